"""S5-S12: the chat without a terminal, as scripts use it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Kefu, Shell, logged
from tests.fakes.behaviours import (
    answer,
    eof_after,
    html_200,
    in_band_error,
    pieces_text,
    status,
)
from tests.fakes.upstream import ScriptedUpstream

ESCAPE = "\x1b"


def test_once_answers_on_standard_output_alone(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S6, S8: the question from the arguments; still logged."""
    upstream.script("*", answer("The answer", " is *42*."))
    ran = kefu("chat", "--once", "What is it?")
    assert (ran.code, ran.out, ran.err) == (0, "The answer is *42*.\n", "")
    events = logged(folder)
    assert [event["type"] for event in events] == [
        "session_start",
        "turn_start",
        "assistant",
        "final",
        "turn_end",
        "session_end",
    ]
    assert events[0]["meta"]["mode"] == "once"
    assert events[1]["content"] == "What is it?"


def test_once_takes_the_whole_of_standard_input(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S6: slashes and several lines included, whatever bytes there are."""
    ran = kefu("chat", "--once", "--no-log", typed="/exit\nis a command?\n")
    assert (ran.code, ran.out) == (0, "Hello from the model.\n")
    assert upstream.calls("/exit\nis a command?")
    kefu("chat", "--once", "--no-log", typed=b"caf\xe9")
    assert upstream.calls("caf\ufffd")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--once"], "--once needs a question"),
        (["--once", " "], "--once needs a question"),
        (["--warn-prompt-tokens", "9", "--max-prompt-tokens", "8", "x"], "is above"),
        (["--resume", "X", "--continue"], "exclude each other"),
        (["--server", "http://127.0.0.1:1", "--model", "m"], "has its own model"),
        (["--max-steps", "0"], "whole number above 0"),
        (["--budget-action", "drop"], "invalid choice"),
        (["--tools", "shell", "x"], "there is no tool shell"),
        (["--base-url", "ftp://x", "x"], "--base-url is not a URL"),
        (["--resume", "NOBODY", "x"], "there is no session NOBODY"),
        (["--continue", "x"], "there is no session in history"),
        (["--fork", "NOBODY:1", "x"], "there is no session NOBODY"),
        (["--nonsense"], "unrecognized arguments"),
    ],
)
def test_wrong_use_is_told_and_ends_with_2(kefu: Kefu, arguments: list[str], says: str) -> None:
    """S10, S27."""
    ran = kefu("chat", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_wrong_configuration_is_told_and_ends_with_2(
    kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEFU_TEMPERATURE", "hot")
    ran = kefu("chat", "--once", "x")
    assert ran.code == 2
    assert "KEFU_TEMPERATURE" in ran.err


@pytest.mark.parametrize(
    ("behaviour", "code", "out", "says"),
    [
        (status(500), 1, "", "unavailable. Please try again later. (HTTP 500)\n"),
        (status(401), 1, "", "(HTTP 401: it does not accept the key)\n"),
        (status(429), 1, "", "Please wait a moment. (HTTP 429)\n"),
        (html_200(), 1, "", "is its address right?)\n"),
        (eof_after(3), 1, pieces_text(3).strip() + "\n", "the answer is incomplete"),
        (in_band_error(500, after=2), 1, pieces_text(2).strip() + "\n", "incomplete"),
    ],
)
def test_once_ends_with_1_when_the_model_fails(
    kefu: Kefu,
    upstream: ScriptedUpstream,
    folder: Path,
    behaviour: object,
    code: int,
    out: str,
    says: str,
) -> None:
    """S10, S11, S12: what there is of the answer is kept; one line says what happened."""
    upstream.script("*", behaviour)  # type: ignore[arg-type]
    ran = kefu("chat", "--once", "x")
    assert (ran.code, ran.out) == (code, out)
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert logged(folder)[-2]["meta"]["status"] == "error"


def test_s11_who_must_wait_is_told_how_long(
    kefu: Kefu, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key rests for five seconds, since it is a person who asks again; KEFU_COOLDOWN holds."""
    upstream.script("*", status(500))
    ran = kefu("chat", "--no-log", typed="one\ntwo\n")
    assert re.search(r"\(HTTP 500\)\nkefu: .* \(in [1-5] s\)\n", ran.err)
    monkeypatch.setenv("KEFU_COOLDOWN", "300")
    ran = kefu("chat", "--no-log", typed="one\ntwo\n")
    assert re.search(r"\(in [45] min\)\n", ran.err)
    assert len(upstream.journal) == 2


def test_once_ends_with_3_and_4_at_its_limits(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S10, S16, S27."""
    upstream.script("*", answer('<action tool="current_time"></action>'))
    ran = kefu("chat", "--once", "--max-steps", "2", "x")
    assert ran.code == 3
    assert "(--max-steps allows more)" in ran.err
    assert len(upstream.journal) == 2
    ran = kefu("chat", "--once", "--max-prompt-tokens", "3", "a question of more than three")
    assert ran.code == 4
    assert "--budget-action trim" in ran.err
    assert len(upstream.journal) == 2


def test_questions_from_a_pipe_are_answered_one_by_one(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S5, S7: no prompt, no colour; the first question from the arguments; commands work."""
    upstream.script("*", answer("one"), answer("two"), answer("three"))
    typed = 'second\n\n//third\n/tokens\n"""\nfourth\n/exit\n"""\n/exit\nnever asked\n'
    ran = kefu("chat", "first", typed=typed)
    assert (ran.code, ran.out) == (0, "one\ntwo\nthree\nthree\n")
    assert re.match(r"Session sess_[0-9A-Z]{26}\. ", ran.err)
    assert "so far " in ran.err
    assert ESCAPE not in ran.out + ran.err
    asked = [event["content"] for event in logged(folder) if event["type"] == "turn_start"]
    assert asked == ["first", "second", "/third", "fourth\n/exit"]
    assert logged(folder)[-1]["meta"]["reason"] == "exit"


def test_an_error_does_not_end_the_chat(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S11: the next question is answered; a script learns of it by the exit code."""
    upstream.script("*", eof_after(1), answer("fine"))
    ran = kefu("chat", "--no-log", typed="one\ntwo\n")
    assert (ran.code, ran.out) == (1, "piece0\nfine\n")


def test_steps_tools_and_results_are_shown_as_they_happen(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S8, S34: on standard error, in their order; a real tool, its real result."""
    (folder / "notes.txt").write_text("".join(f"line {number}\n" for number in range(20)))
    upstream.script(
        "*",
        answer("<thought>Look at it.</thought>", '<action tool="read_file">notes.txt</action>'),
        answer("It has 20 lines: <action tool='calculate'>6 * 7</action>"),
        answer("<final>Done: ", "42.</final>"),
    )
    ran = kefu("chat", "--once", "Read notes.txt")
    assert ran.out == "Done: 42.\n"
    expected = (
        "Look at it.\n→ read_file notes.txt\n  line 0\n  line 1\n  line 2\n  line 3\n  line 4\n"
        "  line 5\n  … 14 more lines\nIt has 20 lines:\n→ calculate 6 * 7\n  42\n"
    )
    assert ran.err == expected
    body = upstream.journal[1].body["messages"]
    assert body[-1]["role"] == "user"
    assert "line 19" in body[-1]["content"]


def test_the_model_is_told_of_the_tools_it_may_use(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S34: all but the one that has no host to fetch from; those named; none."""

    def told(*arguments: str) -> str:
        kefu("chat", "--once", "--no-log", *arguments, "x")
        first = upstream.journal[-1].body["messages"][0]
        return str(first["content"]) if first["role"] == "system" else ""

    assert "read_file" in told()
    assert "http_get" not in told()
    assert "http_get" in told("--allow-host", "example.com")
    only = told("--tools", "current_time, calculate", "--system", "Be short.")
    assert only.startswith("Be short.")
    assert "calculate" in only
    assert "read_file" not in only
    assert told("--tools", "none") == ""


def test_nobody_to_ask_means_no(kefu: Kefu, upstream: ScriptedUpstream, folder: Path) -> None:
    """S34: with --approve and no terminal no tool runs, and the log says so."""
    upstream.script("*", answer('<action tool="calculate">1+1</action>'), answer("fine"))
    ran = kefu("chat", "--once", "--approve", "x")
    assert ran.out == "fine\n"
    assert "nobody is there to allow calculate" in ran.err
    (approval,) = (event for event in logged(folder) if event["type"] == "approval")
    assert approval["meta"] == {"tool": "calculate", "approved": False}


def test_an_unknown_tokenizer_is_told_of(kefu: Kefu) -> None:
    """S9, S25: a limit by an estimate is still a limit."""
    ran = kefu("chat", "--once", "--no-log", "--tokenizer-model", "new-model", "x")
    assert (ran.code, ran.out) == (0, "Hello from the model.\n")
    assert "counts are estimates" in ran.err
    ran = kefu("chat", "--once", "--no-log", "--tokenizer-model", "cl100k_base", "x")
    assert (ran.code, ran.err) == (0, "")


def test_json_prints_the_events_as_they_are_logged(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S9: every line of standard output is JSON, and there is no other."""
    ran = kefu("chat", "--json", typed="hello\n/history\n")
    assert ran.code == 0
    assert [json.loads(line) for line in ran.out.splitlines()] == logged(folder)


def test_what_would_drive_a_terminal_gets_nowhere(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """T21: neither from the model nor from a tool's result; the log keeps what was said."""
    evil = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\x9b1md\x1b]8;;http://evil\x1b\\e"
    (folder / "evil.txt").write_text(evil, encoding="utf-8")
    (folder / "evil\x1b[2J").touch()
    upstream.script(
        "*",
        answer(f"<thought>{evil}</thought>", f'<action tool="{evil}">{evil}</action>'),
        answer('<action tool="read_file">evil.txt</action>'),
        answer('<action tool="list_folder"></action>'),
        answer(*evil),
    )
    ran = kefu("chat", "--once", evil)
    assert ran.out == "abcde\n"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.err)
    assert any(event.get("content") == evil for event in logged(folder))


def test_a_session_goes_on_where_it_was(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S9: --continue, --resume by the end of its name, --fork up to a turn."""

    def said() -> list[str]:
        return [
            m["content"] for m in upstream.journal[-1].body["messages"] if m["role"] != "system"
        ]

    upstream.script("*", answer("A1"), answer("A2"), answer("A3"), answer("A4"), answer("A5"))
    kefu("chat", "--once", "Q1")
    kefu("chat", "--once", "--continue", "Q2")
    assert said() == ["Q1", "A1", "Q2"]
    name = kefu("sessions", "list").out.split()[0]
    assert kefu("chat", "--once", "--resume", name[-4:].lower(), "Q3").code == 0
    assert said() == ["Q1", "A1", "Q2", "A2", "Q3"]
    kefu("chat", "--once", "--fork", f"{name}:1", "Q4")
    assert said() == ["Q1", "A1", "Q4"]
    listed = kefu("sessions", "list").out.splitlines()
    assert len(listed) == 2
    assert [line.split()[3] for line in listed] == ["2", "3"]
    assert "there is no turn 9" in kefu("chat", "--once", "--fork", f"{name}:9", "x").err


def test_the_commands_of_a_chat(kefu: Kefu, upstream: ScriptedUpstream, folder: Path) -> None:
    """S7."""
    upstream.script("*", answer("A1"), answer("A2"), answer("A3"), answer("A4"))
    typed = "\n".join(
        [
            *("/retry", "/save early.md", "/undo", "Q1", "/retry", "/history", "/save a.md"),
            *("/save a.md", "/save", "/export s.md", "/export s.json", "/export s.jsonl"),
            *("/export s.doc", "/tools", "/status", "/undo", "/history", "Q3", "/clear"),
            *("/history", "/nonsense", "/HELP", "Q4"),
        ]
    )
    ran = kefu("chat", typed=typed)
    assert ran.out == "A1\nA2\nA3\nA4\n"
    told = ran.err
    assert told.count("There is nothing to ask again.") == 1
    assert told.count("There is no answer yet.") == 1
    assert told.count("There is nothing to take back.") == 1
    assert "     user  Q1\nassistant  A2\n" in told  # not the answer that was taken back
    assert "Written: a.md\na.md: File exists\nA file's name is missing.\n" in told
    assert "Taken back: Q1\nNothing was said yet.\n" in told
    assert "The model remembers nothing of it; the log does.\nNothing was said yet.\n" in told
    assert "There is no /nonsense" in told
    assert "  /help     this list" in told
    assert "  read_file " in told
    assert "model    LongCat-2.0" in told
    assert (folder / "a.md").read_text() == "A2\n"
    assert "**You** · " in (folder / "s.md").read_text()
    assert json.loads((folder / "s.json").read_text())["messages"][1]["content"] == "A1"
    lines = (folder / "s.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == logged(folder)[: len(lines)]
    asked = [call.body["messages"][-1]["content"] for call in upstream.journal]
    assert asked == ["Q1", "Q1", "Q3", "Q4"]
    assert len(upstream.journal[-1].body["messages"]) == 2  # the system prompt and Q4


def test_another_session_is_taken_up_in_the_middle(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S7: /resume lists sessions, or goes on with one; the first is ended properly."""
    kefu("chat", "--once", "the earlier question")
    name = kefu("sessions", "list").out.split()[0]
    ran = kefu("chat", typed=f"here\n/resume\n/resume nobody\n/resume {name}\nthere\n")
    assert ran.code == 0
    assert "the earlier question" in ran.err
    assert "there is no session nobody" in ran.err
    assert ran.err.count(name) == 2
    assert f"Session {name}, 1 turn so far. " in ran.err
    own = re.findall(r"sess_\w+", ran.err)[0]
    assert ran.err.count(own) == 1, "the one that one is in is not among those to go on with"
    said = [m["content"] for m in upstream.journal[-1].body["messages"] if m["role"] != "system"]
    assert said == ["the earlier question", "Hello from the model.", "there"]
    assert "(no end)" not in kefu("sessions", "list").out


def test_one_process_writes_a_session(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """K3, S24: the one that one is in cannot be taken up again."""
    ran = kefu("chat", typed="one\n/status\n")
    name = re.findall(r"sess_\w+", ran.err)[0]
    ran = kefu("chat", "--resume", name, typed=f"/resume {name}\ntwo\n")
    assert ran.code == 0
    assert "That is the session you are in." in ran.err
    assert ran.out == "Hello from the model.\n"


def test_a_full_disk_does_not_end_the_chat(
    shell: Shell, environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """K2, S20: said once; every answer comes, and no half line is kept. The limit for the size of
    a file stands for the disk's end.
    """
    upstream.script("*", answer("x" * 3000))
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    ran = shell("-m kefu chat --tools none", before="ulimit -f 8; exec", typed="one\ntwo\nthree\n")
    assert ran.out == ("x" * 3000 + "\n") * 3
    assert ran.err.count("The history is not kept whole") == 1
    assert ran.code == 0
    assert [event["turn"] for event in logged(folder) if event["type"] == "turn_start"]


def test_a_log_from_a_newer_version_is_gone_on_with(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """K11: what it does not know it leaves out, and says so."""
    kefu("chat", "--once", "before")
    (log,) = (folder / "history").iterdir()
    with log.open("ab") as file:
        file.write(b'{"v":2,"seq":7,"type":"novelty"}\n')
    ran = kefu("chat", "--once", "--continue", "after")
    assert (ran.code, ran.out) == (0, "Hello from the model.\n")
    assert "unknown type 'novelty'" in ran.err
    assert upstream.journal[-1].body["messages"][-3]["content"] == "before"


def test_the_log_goes_where_it_is_told_to(kefu: Kefu, folder: Path) -> None:
    """S9, S23, K10: or nowhere; a place that cannot be is told of, and ends with 2."""
    kefu("chat", "--once", "--no-log", "x")
    assert not (folder / "history").exists()
    kefu("chat", "--once", "--log-dir", "logs", "--xml", "x")
    (log,) = (folder / "logs").glob("*.jsonl")
    assert log.stat().st_mode & 0o777 == 0o600
    assert (folder / "logs").stat().st_mode & 0o777 == 0o700
    assert "<final>Hello from the model.</final>" in (folder / "logs" / "history.xml").read_text()
    (folder / "file").touch()
    ran = kefu("chat", "--once", "--log-dir", "file/history", "x")
    assert (ran.code, ran.out) == (2, "")
    assert "Not a directory" in ran.err


def test_a_reader_that_leaves_ends_the_chat_quietly(
    shell: Shell, upstream: ScriptedUpstream, folder: Path
) -> None:
    """K6: `kefu chat … | head -1`; the session's end is in its log."""
    upstream.script("*", answer(*["line\n" * 100] * 200))
    ran = shell("-m kefu chat first | head -1", before="", typed="second\nthird\n")
    assert (ran.code, ran.out) == (0, "line\n")
    assert re.fullmatch(r"Session sess_\w+\. [^\n]+\n(\(stopped\)\n)?", ran.err)
    assert logged(folder)[-1]["type"] == "session_end"


@pytest.mark.parametrize(
    ("streams", "code", "out", "says"),
    [
        ("<&- 2>&-", 0, "Hello from the model.\n", ""),
        (">&-", 0, "", ""),
        (">/dev/full", 141, "", "kefu: standard output: No space left on device\n"),
    ],
)
def test_k6_missing_or_full_streams_are_no_traceback(
    shell: Shell, folder: Path, streams: str, code: int, out: str, says: str
) -> None:
    """As below a daemon, or on a disk without room; the log is whole."""
    assert shell(f"-m kefu chat --once x {streams}") == (code, out, says)
    assert logged(folder)[-1]["type"] == "session_end"


def test_without_its_packages_a_sentence_says_what_to_install(
    shell: Shell, environment: dict[str, str], folder: Path
) -> None:
    """Without any extra --help works, and kept sessions are there; chat and service say what they
    lack."""
    block = folder / "site"
    block.mkdir()
    for name in ("prompt_toolkit", "rich", "aiohttp", "pydantic", "fastapi", "uvicorn"):
        (block / f"{name}.py").write_text(f"raise ModuleNotFoundError(name='{name}')")
    environment["PYTHONPATH"] = str(block)
    for arguments, code, says in (
        ("chat --help", 0, ""),
        ("sessions list", 0, ""),
        ("chat --once x", 2, "pip install 'kefu[cli]'"),
        ("serve", 2, "pip install 'kefu[server]'"),
    ):
        ran = shell(f"-m kefu {arguments}")
        assert (ran.code, says in ran.err) == (code, True), ran.err
        assert "Traceback" not in ran.err
