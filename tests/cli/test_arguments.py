"""What people type: options before, between and after the arguments."""

from __future__ import annotations

import pytest

from kefu.cli.parser import parser


@pytest.mark.parametrize(
    ("words", "dest", "values"),
    [
        ("learn one.md -o site.kefu two.md", "sources", ["one.md", "two.md"]),
        ("tools call order --yes id=12", "arguments", ["id=12"]),
        ("tools import a.json --base-url https://a.example one two", "operations", ["one", "two"]),
        ("sessions rm a --log-dir logs b", "id", ["a", "b"]),
        ("learn -- -one.md two.md", "sources", ["-one.md", "two.md"]),
    ],
)
def test_options_may_stand_between_arguments(words: str, dest: str, values: list[str]) -> None:
    assert getattr(parser().parse_args(words.split()), dest) == values


@pytest.mark.parametrize("words", ["learn one.md --unknown two.md", "find a b", "tools call --yes"])
def test_what_no_command_knows_is_still_wrong(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(words.split())
    assert "error:" in capsys.readouterr().err
