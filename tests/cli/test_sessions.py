"""`kefu sessions` and `kefu replay`: what was kept, in every form, and back again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Kefu, Shell
from tests.fakes.behaviours import answer, status
from tests.fakes.upstream import ScriptedUpstream

OLDER = Path(__file__).with_name("older.jsonl")
"""As an older program wrote it: no `v`, no `seq`, another kind of name."""


@pytest.fixture
def two(kefu: Kefu, upstream: ScriptedUpstream) -> list[str]:
    """Two kept sessions, the latest first."""
    upstream.script("*", answer("Paris\x1b[31m."), answer("Bern."), answer("Berlin."))
    kefu("chat", typed="Capital of France?\nOf Switzerland?\n")
    kefu("chat", "--once", "Of Germany,\nplease?")
    return [line.split()[0] for line in kefu("sessions", "list").out.splitlines()]


def test_sessions_are_listed_shown_and_found(kefu: Kefu, two: list[str]) -> None:
    """The latest first; a name's end is enough; what is found stands with its turn."""
    listed = kefu("sessions", "list")
    assert listed.code == 0
    latest, first = listed.out.splitlines()
    assert latest.endswith("Of Germany, please?")
    assert "  2 turns" in first
    shown = kefu("sessions", "show", two[1][-6:])
    assert shown.out == (
        f"{two[1]}\n\nYou:\nCapital of France?\n\nKefu:\nParis.\n\n"
        "You:\nOf Switzerland?\n\nKefu:\nBern.\n"
    )
    hit = kefu("sessions", "search", "SWITZERLAND")
    assert (hit.code, hit.out) == (0, f"{two[1]}:2  user       Of Switzerland?\n")
    assert kefu("sessions", "search", "Atlantis") == (1, "", "")


def test_a_question_without_an_answer_says_so(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S11: also when it is shown again, with what became of the call."""
    upstream.script("*", status(500))
    kefu("chat", "--once", "Anybody?")
    (line,) = kefu("sessions", "list").out.splitlines()
    assert "  1 turn   " in line
    shown = kefu("sessions", "show", line.split()[0]).out
    why = "The AI service is unavailable. Please try again later."
    assert shown.endswith(f"You:\nAnybody?\n\n(no answer: {why})\n")
    ran = kefu("replay", f"history/{line.split()[0]}.jsonl", "--speed", "0")
    assert f"kefu: {why} (HTTP 500)\n" in ran.err


def test_a_list_that_cannot_be_written_says_so(kefu: Kefu, shell: Shell) -> None:
    kefu("chat", "--once", "x")
    ran = shell("-u -m kefu sessions list > /dev/full")
    said = "kefu: standard output: No space left on device\n"
    assert (ran.code, ran.err) == (1, said)


def test_s20_sessions_are_kept_in_a_database_as_well_as_in_files(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """From a database to JSON lines, and to a folder, and back: nothing changes."""
    upstream.script("*", answer("Paris."), answer("Bern."))
    at = ("--log-dir", "sqlite:///kept/kefu.sqlite3")
    assert kefu("chat", *at, typed="Capital of France?\n").code == 0
    assert kefu("chat", *at, "--continue", typed="Of Switzerland?\n").code == 0
    assert not (folder / "history").exists()
    (line,) = kefu("sessions", "list", *at).out.splitlines()
    session = line.split()[0]
    assert "  2 turns" in line
    exported = kefu("sessions", "export", session, *at, "--output", "out.jsonl")
    assert exported.code == 0
    lines = (folder / "out.jsonl").read_bytes()
    assert kefu("sessions", "import", "out.jsonl").out == f"history/{session}.jsonl\n"
    assert (folder / "history" / f"{session}.jsonl").read_bytes() == lines
    assert kefu("sessions", "import", *at, "out.jsonl").code == 1
    assert kefu("sessions", "rm", *at, session).out == f"Removed: {session}\n"
    assert kefu("sessions", "list", *at).out == ""
    left = b"".join(file.read_bytes() for file in (folder / "kept").iterdir())
    assert b"Switzerland" not in left
    taken = kefu("sessions", "import", *at, "out.jsonl")
    assert (taken.code, taken.out) == (0, f"{session} in kept/kefu.sqlite3\n")
    assert kefu("sessions", "export", session, *at).out.encode() == lines


def test_a_session_is_exported_and_taken_in_again_unchanged(
    kefu: Kefu, two: list[str], folder: Path
) -> None:
    """JSON lines and the store are the same thing: there and back nothing changes."""
    log = folder / "history" / f"{two[1]}.jsonl"
    before = log.read_bytes()
    assert kefu("sessions", "export", two[1], "--output", "out.jsonl").code == 0
    assert (folder / "out.jsonl").read_bytes() == before
    assert kefu("sessions", "export", two[1], "--output", "out.jsonl").code == 1
    assert kefu("sessions", "rm", two[1]).out == f"Removed: {two[1]}\n"
    assert not log.exists()
    taken = kefu("sessions", "import", "out.jsonl")
    assert (taken.code, taken.out) == (0, f"history/{two[1]}.jsonl\n")
    assert log.read_bytes() == before
    again = kefu("sessions", "import", "out.jsonl")
    assert (again.code, again.out) == (1, "")
    assert "is there already" in again.err


def test_a_session_is_exported_for_people_and_for_programs(kefu: Kefu, two: list[str]) -> None:
    whole = json.loads(kefu("sessions", "export", two[0], "--format", "json").out)
    assert (whole["session_id"], whole["model"]) == (two[0], "LongCat-2.0")
    assert [(m["role"], m["content"]) for m in whole["messages"]] == [
        ("user", "Of Germany,\nplease?"),
        ("assistant", "Berlin."),
    ]
    prose = kefu("sessions", "export", two[1], "--format", "md").out
    assert prose.startswith(f"# {two[1]}\n\n**You** · ")
    assert "\x1b" not in prose


def test_no_form_of_a_session_drives_a_terminal(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """T21: shown, listed, found or exported."""
    upstream.script("*", answer("a\x1b]52;c;cm0=\x07b\x9b2Jc\u202ed"))
    kefu("chat", "--once", "evil\x1b[2J\x9b2J\u202equestion")
    name = kefu("sessions", "list").out.split()[0]
    for arguments in (
        ["list"],
        ["show", name],
        ["search", "question"],
        *(["export", name, "--format", form] for form in ("jsonl", "json", "md", "txt")),
    ):
        ran = kefu("sessions", *arguments)
        assert "question" in ran.out
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out)


def test_an_older_log_is_taken_in_and_gone_on_with(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S21: under a name of Kefu's own."""
    path = kefu("sessions", "import", str(OLDER)).out.strip()
    name = Path(path).stem
    assert "README 摘要..." in kefu("sessions", "show", name).out
    assert kefu("chat", "--once", "--resume", name, "谢谢").code == 0
    said = [m["content"] for m in upstream.journal[-1].body["messages"]]
    assert said[0] == "帮我读 README"
    assert said[-2:] == ["README 摘要...", "谢谢"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "NOBODY"],
        ["export", "../../etc/passwd"],
        ["rm", "NOBODY"],
        ["import", "nothing.jsonl"],
        ["import", "empty.jsonl"],
        ["import", "."],
    ],
)
def test_what_is_not_there_is_told_and_ends_with_1(
    kefu: Kefu, two: list[str], folder: Path, arguments: list[str]
) -> None:
    (folder / "empty.jsonl").touch()
    ran = kefu("sessions", *arguments)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("kefu: ")
    assert len(kefu("sessions", "list").out.splitlines()) == 2


def test_a_name_that_two_sessions_end_in_is_none(kefu: Kefu, two: list[str], folder: Path) -> None:
    ran = kefu("sessions", "rm", "")
    assert ran.code == 1
    assert "several sessions" in ran.err
    assert len(list((folder / "history").iterdir())) == 2


def test_a_session_that_is_written_to_is_not_removed(
    kefu: Kefu, two: list[str], folder: Path, environment: dict[str, str]
) -> None:
    """K3: nor is another process disturbed."""
    holding = subprocess.Popen(
        [sys.executable, "-m", "kefu", "chat", "--resume", two[0]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=folder,
    )
    assert holding.stdin is not None
    assert holding.stdout is not None
    with holding:
        holding.stdin.write(b"hello\n")
        holding.stdin.flush()
        assert holding.stdout.readline() == b"Berlin.\n"
        ran = kefu("sessions", "rm", two[0])
        assert ran.code == 1
        assert "another process writes to" in ran.err
        holding.stdin.close()
        assert holding.wait(20) == 0
    assert kefu("sessions", "rm", two[0]).code == 0


def test_a_session_is_shown_again_as_it_happened(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """Steps, tools and answers in their order, on the streams they were on."""
    upstream.script(
        "*",
        answer('<thought>Let us see.</thought><action tool="calculate">6*7</action>'),
        answer("<final>42</final>"),
    )
    happened = kefu("chat", "--once", "What is six times seven?")
    (log,) = (folder / "history").iterdir()
    again = kefu("replay", str(log), "--speed", "0")
    assert (again.code, again.out) == (0, happened.out)
    assert again.err == f"> What is six times seven?\n{happened.err}"
    with log.open("ab") as file:
        file.write(b'{"v":1,"type":"novelty"}\n{"torn')
    told = kefu("replay", str(log), "--speed", "1000").err
    assert "unknown type 'novelty'" in told
    assert "could not be read" in told
    assert kefu("replay", "nothing.jsonl").code == 1
