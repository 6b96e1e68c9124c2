"""`kefu sessions`: list, export and import stored sessions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.conftest import Kefu, Shell
from tests.fakes.behaviours import answer, status
from tests.fakes.upstream import ScriptedUpstream

OLDER = Path(__file__).with_name("older.jsonl")
"""As an older program wrote it: no `v`, no `seq`, another kind of name."""


@pytest.fixture
def two(kefu: Kefu, upstream: ScriptedUpstream) -> list[str]:
    """Two stored sessions, the latest first."""
    upstream.script("*", answer("Paris\x1b[31m."), answer("Bern."), answer("Berlin."))
    kefu("chat", typed="Capital of France?\nOf Switzerland?\n")
    kefu("chat", "--once", "Of Germany,\nplease?")
    return [line.split()[0] for line in kefu("sessions", "list").out.splitlines()]


def test_sessions_are_listed_shown_and_found(kefu: Kefu, two: list[str]) -> None:
    """The latest session comes first, the end of an id is sufficient, and a match is shown with its
    turn.
    """
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


def test_a_question_without_an_answer_is_marked(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S11"""
    upstream.script("*", status(500))
    kefu("chat", "--once", "Anybody?")
    (line,) = kefu("sessions", "list").out.splitlines()
    assert "  1 turn   " in line
    shown = kefu("sessions", "show", line.split()[0]).out
    why = "The AI service is unavailable. Please try again later."
    assert shown.endswith(f"You:\nAnybody?\n\n(no answer: {why})\n")


def test_a_list_that_cannot_be_written_is_an_error(kefu: Kefu, shell: Shell) -> None:
    kefu("chat", "--once", "x")
    ran = shell("-u -m kefu sessions list > /dev/full")
    said = "kefu: standard output: No space left on device\n"
    assert (ran.code, ran.err) == (1, said)


def test_s20_session_is_exported_and_imported_unchanged(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    upstream.script("*", answer("Paris."), answer("Bern."))
    at = ("--log-dir", "kept")
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


def test_database_for_logs_is_refused_with_the_command_that_copies_it(
    kefu: Kefu, folder: Path
) -> None:
    ran = kefu("chat", "--log-dir", "sqlite:///kept/kefu.sqlite3", "--once", "x")
    assert ran.code == 2
    assert "`kefu sessions import FILE` copies the sessions of a database" in ran.err
    assert not list(folder.iterdir())


@pytest.mark.parametrize("content", [b"SQLite format 3\0", b"SQLite format 3\0" + b"x" * 5000])
def test_file_that_is_no_database_is_said_to_be_so(
    kefu: Kefu, folder: Path, content: bytes
) -> None:
    (folder / "logs.sqlite3").write_bytes(content)
    ran = kefu("sessions", "import", "logs.sqlite3")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("kefu: logs.sqlite3: ")
    assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_s20_sessions_at_the_same_time_lose_nothing_of_their_xml(
    shell: Shell, upstream: ScriptedUpstream, folder: Path
) -> None:
    """Each session has its own XML file, which is removed with the session."""
    for number in range(4):
        upstream.script("*", answer(f"Answer {number}."), asking=f"question {number}")
    with ThreadPoolExecutor(4) as at_once:
        asking = [f"-m kefu chat --once --xml 'question {number}'" for number in range(4)]
        assert [ran.code for ran in at_once.map(shell, asking)] == [0] * 4
    kept = [file.read_text() for file in (folder / "history").glob("sess_*.xml")]
    finals = sorted(final for text in kept for final in re.findall("<final>(.*)</final>", text))
    assert finals == [f"Answer {number}." for number in range(4)]
    ids = " ".join(file.stem for file in (folder / "history").glob("*.xml"))
    assert shell(f"-m kefu sessions rm {ids}").code == 0
    assert not list((folder / "history").glob("*.xml"))


def test_s20_the_xml_file_of_a_resumed_session_is_continued(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    upstream.script("*", answer("One."), answer("Two."))
    kefu("chat", "--once", "--xml", "x")
    kefu("chat", "--once", "--xml", "--continue", "y")
    (xml,) = (folder / "history").glob("*.xml")
    assert re.findall("<final>(.*)</final>", xml.read_text()) == ["One.", "Two."]


def test_a_session_is_exported_and_taken_in_again_unchanged(
    kefu: Kefu, two: list[str], folder: Path
) -> None:
    """The export has the format of the log, so importing it changes nothing."""
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
    assert "already exists" in again.err


def test_a_log_with_a_byte_order_mark_is_imported_whole(
    kefu: Kefu, two: list[str], folder: Path
) -> None:
    log = folder / "history" / f"{two[1]}.jsonl"
    before = log.read_bytes()
    (folder / "out.jsonl").write_bytes(b"\xef\xbb\xbf" + before)
    kefu("sessions", "rm", two[1])
    taken = kefu("sessions", "import", "out.jsonl")
    assert (taken.code, taken.err) == (0, "")
    assert log.read_bytes() == before


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
    """T21: in a list, in full, in search results and in exports."""
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
    """S21: it gets an id in Kefu's format."""
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
def test_a_missing_session_is_reported_with_exit_code_1(
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
    """K3: the process that writes it is not disturbed."""
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
