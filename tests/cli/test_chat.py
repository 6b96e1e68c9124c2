"""S5-S12: the chat without a terminal, as scripts use it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
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
    """S6, S8: the question comes from the arguments, and the session is logged."""
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
    """S6: also text that begins with a slash, several lines, and invalid bytes."""
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
        (["--fork", "9K2A:abc", "x"], "--fork ID:TURN: 'abc' is not the number of a turn"),
        (["--fork", "9K2A:", "x"], "--fork ID:TURN: '' is not the number of a turn"),
        (["--fork", "9K2A:-1", "x"], "--fork ID:TURN: '-1' is not the number of a turn"),
        (["--fork", f"9K2A:{'9' * 5000}", "x"], "is not the number of a turn"),
        (["--preset", "sales", "x"], "no preset sales in kefu.toml, which does not exist here"),
        (["--server", "http://127.0.0.1:1", "--tools", "calculate"], "has its own model"),
        (["--nonsense"], "unrecognized arguments"),
    ],
)
def test_invalid_arguments_are_reported_with_exit_code_2(
    kefu: Kefu, arguments: list[str], says: str
) -> None:
    """Requirements S10 and S27."""
    ran = kefu("chat", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_a_preset_of_kefu_toml_is_used_and_flags_win_over_it(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    (folder / "kefu.toml").write_text(
        "[model]\nname = 'usual'\n[presets.sales]\nmodel = 'small'\ntemperature = 0.1\n"
        "max_output_tokens = 50\nsystem_prompt = 'Sell.'\n"
    )
    assert kefu("chat", "--once", "--no-log", "--tools", "none", "x").code == 0
    assert kefu("chat", "--once", "--no-log", "--preset", "sales", "x").code == 0
    flags = ("--model", "large", "--system", "Help.")
    assert kefu("chat", "--once", "--no-log", "--preset", "sales", *flags, "x").code == 0
    plain, sales, large = (request.body for request in upstream.journal)
    assert plain["model"] == "usual"
    assert (sales["model"], sales["temperature"], sales["max_tokens"]) == ("small", 0.1, 50)
    assert "Sell." in sales["messages"][0]["content"]
    assert (large["model"], large["temperature"]) == ("large", 0.1)
    assert "Help." in large["messages"][0]["content"]
    assert "Sell." not in large["messages"][0]["content"]


def test_m2_parameters_of_kefu_toml_are_sent_and_a_preset_replaces_them(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    (folder / "kefu.toml").write_text(
        "[model]\ntemperature = 'none'\nparameters = { top_k = 5 }\n"
        "[presets.sales]\ntemperature = 0.1\nparameters = { max_completion_tokens = 9 }\n"
    )
    assert kefu("chat", "--once", "--no-log", "x").code == 0
    assert kefu("chat", "--once", "--no-log", "--preset", "sales", "x").code == 0
    plain, sales = (request.body for request in upstream.journal)
    assert (plain["top_k"], plain["max_tokens"], "temperature" in plain) == (5, 2048, False)
    assert (sales["max_completion_tokens"], sales["temperature"]) == (9, 0.1)
    assert not {"top_k", "max_tokens"} & sales.keys()


def test_an_invalid_configuration_is_reported_with_exit_code_2(
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
    """S10, S11, S12: the partial answer is stored, and one line gives the reason."""
    upstream.script("*", behaviour)  # type: ignore[arg-type]
    ran = kefu("chat", "--once", "x")
    assert (ran.code, ran.out) == (code, out)
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert logged(folder)[-2]["meta"]["status"] == "error"


@pytest.mark.slow
def test_s11_an_error_has_the_time_to_wait(
    kefu: Kefu, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cooldown of a key is five seconds by default, or the value of KEFU_COOLDOWN."""
    upstream.script("*", status(500))
    ran = kefu("chat", "--no-log", typed="one\ntwo\n")
    assert re.search(r"\(HTTP 500\)\nkefu: waiting [1-5] s before the next message\n", ran.err)
    assert len(upstream.journal) == 2
    monkeypatch.setenv("KEFU_COOLDOWN", "300")
    ran = kefu("chat", "--no-log", typed="one\ntwo\n")
    assert re.search(r"\(in [45] min\)\n", ran.err)
    assert len(upstream.journal) == 3


def test_s11_after_an_error_the_questions_of_a_script_wait_and_are_all_asked(
    kefu: Kefu, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is one key, so the next questions wait. The answers and the error come in order."""
    monkeypatch.setenv("KEFU_COOLDOWN", "1")
    upstream.script("*", status(500), asking="question 4")
    for number in (*range(1, 4), *range(5, 14)):
        upstream.script("*", answer(f"answer {number}"), asking=f"question {number}")
    typed = "".join(f"question {number}\n" for number in range(1, 14))
    ran = kefu("chat", "--no-log", typed=typed)
    assert ran.code == 1
    assert ran.out.split("\n")[:-1] == [f"answer {n}" for n in range(1, 14) if n != 4]
    assert ran.err.count("HTTP 500") == 1
    assert ran.err.count("waiting 1 s before") == 1
    assert len(upstream.journal) == 13


def test_k5_a_script_that_waits_is_ended_by_a_signal(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    upstream.script("*", status(500))
    command = [sys.executable, "-m", "kefu", "chat"]
    with subprocess.Popen(
        command,
        env={**environment, "KEFU_COOLDOWN": "100"},
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as script:
        assert script.stdin
        assert script.stderr
        script.stdin.write("one\ntwo\n")
        script.stdin.close()
        while "before the next message" not in script.stderr.readline():
            assert script.poll() is None
        script.terminate()
        assert script.wait(20) == 143
    assert logged(folder)[-1]["meta"]["reason"] == "sigterm"
    assert len(upstream.journal) == 1


def test_s28_a_drift_above_15_per_cent_is_reported_once_on_a_machine(
    kefu: Kefu, upstream: ScriptedUpstream, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/tokens always shows the drift. If the home folder is not writable, the notice is
    repeated.
    """
    usage = {"prompt_tokens": 4000, "completion_tokens": 9, "total_tokens": 4009}
    upstream.script("*", answer("Hello.", usage=usage))
    said = re.compile(
        r"kefu: Token counts are -\d\d% off what the model reports; .*/tokens shows this"
    )
    assert len(said.findall(kefu("chat", "--no-log", typed="one\ntwo\n").err)) == 1
    ran = kefu("chat", "--no-log", typed="one\n/tokens\n")
    assert "Token counts" not in ran.err
    assert re.search(r"drift +-\d\d\.\d% against", ran.err)
    assert kefu("chat", "--no-log", "--once", "x").err == ""
    told = home / ".local/state/kefu/token_drift_told"
    assert told.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("HOME", "/dev/null")
    assert said.search(kefu("chat", "--no-log", "--once", "x").err)


def test_once_ends_with_3_and_4_at_its_limits(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """Requirements S10, S16 and S27."""
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
    """S5, S7: without prompt and colours. The first question comes from the arguments, and commands
    work.
    """
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
    """S11: the next question is answered, and the exit code tells a script about the error."""
    upstream.script("*", eof_after(1), answer("fine"))
    ran = kefu("chat", "--no-log", typed="one\ntwo\n")
    assert (ran.code, ran.out) == (1, "piece0\nfine\n")


def test_steps_tools_and_results_are_shown_as_they_happen(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S8, S34: on standard error, in their order, with a real tool and its result."""
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


def test_the_prompt_lists_the_allowed_tools(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S34: by default all tools except `http_get`, which needs a host; or the named ones;
    or none.
    """

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


def test_without_a_terminal_approval_is_denied(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S34: with --approve and without a terminal no tool runs, and the log contains this."""
    upstream.script("*", answer('<action tool="calculate">1+1</action>'), answer("fine"))
    ran = kefu("chat", "--once", "--approve", "x")
    assert ran.out == "fine\n"
    assert "calculate was not run: there is no terminal" in ran.err
    (approval,) = (event for event in logged(folder) if event["type"] == "approval")
    assert approval["meta"] == {"tool": "calculate", "approved": False}


def test_an_unknown_tokenizer_is_reported(kefu: Kefu) -> None:
    """S9, S25: the limit then uses an estimate."""
    ran = kefu("chat", "--once", "--no-log", "--tokenizer-model", "new-model", "x")
    assert (ran.code, ran.out) == (0, "Hello from the model.\n")
    assert "counts are estimates" in ran.err
    ran = kefu("chat", "--once", "--no-log", "--tokenizer-model", "cl100k_base", "x")
    assert (ran.code, ran.err) == (0, "")


def test_json_prints_the_events_as_they_are_logged(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """S9: every line of standard output is JSON."""
    ran = kefu("chat", "--json", typed="hello\n/history\n")
    assert ran.code == 0
    assert [json.loads(line) for line in ran.out.splitlines()] == logged(folder)


def test_control_sequences_for_terminals_are_removed(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """T21: from the model and from a tool's result. The log has the original text."""
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


def test_a_session_is_resumed_at_its_end(kefu: Kefu, upstream: ScriptedUpstream) -> None:
    """S9: --continue, --resume with the end of an id, and --fork up to a turn."""

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
    """Requirement S7."""
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
    assert told.count("There is no message to send again.") == 1
    assert told.count("There is no answer yet.") == 1
    assert told.count("There is no turn to remove.") == 1
    assert "     user  Q1\nassistant  A2\n" in told  # without the answer that was removed
    assert "Written: a.md\na.md: File exists\nA file's name is missing.\n" in told
    assert "Removed: Q1\nThe session has no messages yet.\n" in told
    assert (
        "All turns are removed from the session; the log keeps them.\n"
        "The session has no messages yet.\n"
    ) in told
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
    """S7: /resume lists sessions or resumes one. The log of the first session gets an end event."""
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
    """K3, S24: the session that is open cannot be resumed again."""
    ran = kefu("chat", typed="one\n/status\n")
    name = re.findall(r"sess_\w+", ran.err)[0]
    ran = kefu("chat", "--resume", name, typed=f"/resume {name}\ntwo\n")
    assert ran.code == 0
    assert "That is the session you are in." in ran.err
    assert ran.out == "Hello from the model.\n"


def test_a_full_disk_does_not_end_the_chat(
    shell: Shell, environment: dict[str, str], upstream: ScriptedUpstream, folder: Path
) -> None:
    """K2, S20: one message reports it. Every answer is shown, and the log has no incomplete line. A
    limit for the size of files simulates the full disk.
    """
    upstream.script("*", answer("x" * 3000))
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    ran = shell("-m kefu chat --tools none", before="ulimit -f 8; exec", typed="one\ntwo\nthree\n")
    assert ran.out == ("x" * 3000 + "\n") * 3
    assert ran.err.count("The log of the session is incomplete") == 1
    assert ran.code == 0
    assert [event["turn"] for event in logged(folder) if event["type"] == "turn_start"]


def test_a_log_from_a_newer_version_is_gone_on_with(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """K11: unknown events are skipped and reported."""
    kefu("chat", "--once", "before")
    (log,) = (folder / "history").iterdir()
    with log.open("ab") as file:
        file.write(b'{"v":2,"seq":7,"type":"novelty"}\n')
    ran = kefu("chat", "--once", "--continue", "after")
    assert (ran.code, ran.out) == (0, "Hello from the model.\n")
    assert "unknown type 'novelty'" in ran.err
    assert upstream.journal[-1].body["messages"][-3]["content"] == "before"


def test_the_log_is_written_to_the_log_dir(kefu: Kefu, folder: Path) -> None:
    """S9, S23, K10: also without a log. An unusable folder is reported with exit code 2."""
    kefu("chat", "--once", "--no-log", "x")
    assert not (folder / "history").exists()
    kefu("chat", "--once", "--log-dir", "logs", "--xml", "x")
    (log,) = (folder / "logs").glob("*.jsonl")
    assert log.stat().st_mode & 0o777 == 0o600
    assert (folder / "logs").stat().st_mode & 0o777 == 0o700
    xml = log.with_suffix(".xml")
    assert "<final>Hello from the model.</final>" in xml.read_text()
    assert xml.stat().st_mode & 0o777 == 0o600
    (folder / "file").touch()
    ran = kefu("chat", "--once", "--log-dir", "file/history", "x")
    assert (ran.code, ran.out) == (2, "")
    assert "Not a directory" in ran.err
    ran = kefu("chat", "--once", "--log-dir", "file", "x")
    assert (ran.code, ran.out) == (2, "")
    assert "file is a file: sessions are stored in a folder" in ran.err


def test_a_reader_that_leaves_ends_the_chat_quietly(
    shell: Shell, upstream: ScriptedUpstream, folder: Path
) -> None:
    """K6: `kefu chat … | head -1`. The log has the end of the session."""
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
    """As for a daemon, or on a full disk. The log is complete."""
    assert shell(f"-m kefu chat --once x {streams}") == (code, out, says)
    assert logged(folder)[-1]["type"] == "session_end"


def test_without_its_packages_a_message_names_what_to_install(
    shell: Shell, environment: dict[str, str], folder: Path
) -> None:
    """Without extras, --help and the stored sessions work. The chat and the service report the
    missing packages.
    """
    block = folder / "site"
    block.mkdir()
    for name in ("prompt_toolkit", "rich", "aiohttp", "pydantic", "fastapi", "uvicorn"):
        (block / f"{name}.py").write_text(f"raise ModuleNotFoundError(name='{name}')")
    environment["PYTHONPATH"] = str(block)
    for arguments, code, says in (
        ("chat --help", 0, ""),
        ("sessions list", 0, ""),
        ("chat --once x", 2, "pip install '.[cli]'"),
        ("serve", 2, "pip install '.[server]'"),
    ):
        ran = shell(f"-m kefu {arguments}")
        assert (ran.code, says in ran.err) == (code, True), ran.err
        assert "Traceback" not in ran.err


def test_a_question_and_piped_text_are_sent_together(
    kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    ran = kefu("chat", "--once", "--no-log", "Why?", typed="line one\nline two\n")
    assert ran.code == 0
    assert upstream.journal[0].question == "line one\nline two\n\nWhy?"


@pytest.mark.parametrize(
    ("tools", "text"), [("none", "Monday "), ("calculate", "I know that. <final>Monday ")]
)
def test_s8_an_answer_arrives_in_a_pipe_while_it_is_written(
    tools: str, text: str, folder: Path, environment: dict[str, str], upstream: ScriptedUpstream
) -> None:
    """The model stays silent after the first words, and these are read before it is stopped."""
    upstream.script("*", answer(text, done=False, finish=None).then(ending="silence"))
    command = [sys.executable, "-m", "kefu", "chat", "--no-log", "--tools", tools, "When?"]
    with subprocess.Popen(
        command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        assert child.stdout.read(6) == b"Monday"
        child.kill()
