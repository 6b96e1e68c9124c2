"""Session logs when processes die, disks fill up, or folders are unusable (K1, K2, K3, K10)."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from kefu.agent.events import Action, AgentSessionId, SessionEvent, TurnStart, read_lines
from kefu.agent.react import resume
from kefu.context import Message
from kefu.errors import HistoryBusy, HistoryUnavailable
from kefu.stores.jsonl import JsonlHistorySink, SessionLogs
from tests.fakes.spoken import rig

SESSION = AgentSessionId("sess_01ARZ3NDEKTSV4RRFFQ69G5FAV")


def event(number: int, text: str = "some text") -> SessionEvent:
    return SessionEvent(1_760_000_000.0 + number, SESSION, number, Action("read", text), 1, 0)


def numbers(folder: Path) -> list[int]:
    return [read.seq for read in SessionLogs(folder).read(SESSION).events]


@pytest.fixture
async def two_turns(tmp_path: Path) -> bytes:
    """The log of a session with two complete turns. The first one has a tool call."""
    sink = JsonlHistorySink(tmp_path, SESSION)
    talk = rig(
        '<action tool="none">x</action>',
        "<final>eins</final>",
        "<final>zwei 🎉</final>",
        deps={"history_sinks": (sink,), "new_id": lambda: SESSION},
        system_prompt="Be brief.",
    )
    await talk.session.run_turn("one")
    await talk.session.run_turn("two")
    await talk.session.close()
    sink.close()
    return sink.path.read_bytes()


def history(log: bytes) -> list[str]:
    return [entry.message.content for entry in resume(read_lines(log.splitlines(True))).entries]


def goes_on(folder: Path, log: bytes) -> None:
    """Check that the complete lines of a log can be read, and that the next process
    continues it.
    """
    folder.mkdir()
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(log)
    before = SessionLogs(folder).read(SESSION)
    whole = log[: log.rfind(b"\n") + 1].count(b"\n")
    assert whole <= len(before.events) <= whole + 1
    sink = JsonlHistorySink(folder, SESSION)
    sink.append(event(before.last_seq + 1))
    sink.close()
    after = SessionLogs(folder).read(SESSION)
    assert after.events[:-1] == before.events
    assert after.events[-1].seq == before.last_seq + 1
    assert path.read_bytes().startswith(log)


@pytest.mark.slow
async def test_k1_s24_killed_at_every_byte_of_the_last_line(
    two_turns: bytes, tmp_path: Path
) -> None:
    last = two_turns.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(two_turns) + 1):
        goes_on(tmp_path / str(cut), two_turns[:cut])
        assert history(two_turns[:cut]) == history(two_turns)


async def test_k1_s24_killed_at_200_points_it_can_be_resumed(
    two_turns: bytes, tmp_path: Path
) -> None:
    first = two_turns.find(b"\n") + 1
    dice = random.Random(1)
    for number in range(200):
        cut = dice.randrange(first, len(two_turns))
        goes_on(tmp_path / str(number), two_turns[:cut])
        told = history(two_turns[:cut])
        assert told[0] == "Be brief."
        assert told == history(two_turns)[: len(told)]
        assert len(told) in (1, 5, 7)


WRITER = """
import sys
from pathlib import Path
from kefu.stores.jsonl import JsonlHistorySink
from tests.faults.test_history import SESSION, event
sink = JsonlHistorySink(Path(sys.argv[1]), SESSION)
print("ready", flush=True)
for number in range(int(sys.argv[2]), 10**9):
    sink.append(event(number, "x" * 5000))
"""


@contextmanager
def writing(folder: Path, start: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WRITER, str(folder), str(start)]
    path = f"{os.getcwd()}:{Path('functions').absolute()}"  # noqa: PTH109
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def test_k1_k3_a_writer_that_is_killed_leaves_whole_lines_and_the_lock(tmp_path: Path) -> None:
    seen = 0
    for _ in range(2):
        with writing(tmp_path, seen + 1):
            with pytest.raises(HistoryBusy, match="another process writes"):
                JsonlHistorySink(tmp_path, SESSION)
            time.sleep(0.05)
        log = SessionLogs(tmp_path).read(SESSION)
        assert [e.seq for e in log.events] == list(range(1, log.last_seq + 1))
        assert log.last_seq > seen
        seen = log.last_seq
    JsonlHistorySink(tmp_path, SESSION).close()


def test_k3_200_writers_of_50_lines_each_write_one_after_the_other(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        while True:
            try:
                sink = JsonlHistorySink(tmp_path, SESSION)
            except HistoryBusy:
                time.sleep(0.001)
                continue
            for number in range(50):
                sink.append(event(writer * 50 + number + 1))
            sink.close()
            return

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(200)))
    lines = (tmp_path / f"{SESSION}.jsonl").read_bytes().splitlines()
    written = [json.loads(line)["seq"] for line in lines]
    assert sorted(written) == list(range(1, 10_001))
    assert all(
        written[at : at + 50] == [*range(written[at], written[at] + 50)]
        for at in range(0, 10_000, 50)
    )


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """Limit the size of this process's files. As on a full disk, a part may still be written."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_k2_a_full_disk_leaves_no_half_line_and_heals(tmp_path: Path) -> None:
    sink = JsonlHistorySink(tmp_path, SESSION)
    sink.append(event(1))
    with full_after(sink.path.stat().st_size + 100), pytest.raises(HistoryUnavailable):
        sink.append(event(2))
    assert sink.path.read_bytes().endswith(b"\n")
    assert numbers(tmp_path) == [1]
    sink.append(event(3))
    sink.close()
    assert numbers(tmp_path) == [1, 3]


async def test_k2_s20_the_chat_continues_after_one_warning(tmp_path: Path) -> None:
    sink = JsonlHistorySink(tmp_path, SESSION)
    talk = rig("yes", deps={"history_sinks": (sink,), "new_id": lambda: SESSION})
    with full_after(sink.path.stat().st_size + 10):
        for _ in range(3):
            assert (await talk.session.run_turn("still there?")).final_text == "yes"
    assert len(talk.warnings) == 1
    assert "File too large" in talk.warnings[0]
    sink.close()
    assert sink.path.read_bytes().count(b"\n") == 1


def test_s23_logs_are_their_owners_alone(tmp_path: Path) -> None:
    sink = JsonlHistorySink(tmp_path / "a" / "history", SESSION)
    sink.append(event(1))
    sink.close()
    assert stat.S_IMODE(sink.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(sink.path.parent.stat().st_mode) == 0o700


def test_k10_a_failed_write_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryUnavailable, match="Not a directory"):
        JsonlHistorySink(tmp_path / "file" / "history", SESSION)
    (tmp_path / f"{SESSION}.jsonl").mkdir()
    with pytest.raises(HistoryUnavailable, match="Is a directory"):
        JsonlHistorySink(tmp_path, SESSION)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "sess_1", "", f"{SESSION}/../x", "sess_" + "I" * 26]
)
def test_a_name_that_is_no_sessions_leads_nowhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(HistoryUnavailable, match="not the name of a session"):
        SessionLogs(tmp_path).read(AgentSessionId(name))


def test_k10_a_clock_that_goes_back_changes_no_order(tmp_path: Path) -> None:
    sink = JsonlHistorySink(tmp_path, SESSION)
    for number, ts in enumerate([100.0, 50.0, 200.0], 1):
        sink.append(SessionEvent(ts, SESSION, number, TurnStart(str(ts)), number))
    sink.close()
    assert numbers(tmp_path) == [1, 2, 3]


def test_s9_the_session_that_was_last_written_to_is_the_first(tmp_path: Path) -> None:
    other = AgentSessionId("sess_01ARZ3NDEKTSV4RRFFQ69G5FAW")
    for at, session in enumerate((other, SESSION)):
        sink = JsonlHistorySink(tmp_path, session)
        sink.close()
        os.utime(sink.path, (at, at))
    (tmp_path / "sess_x.jsonl").touch()
    assert list(SessionLogs(tmp_path).ids()) == [SESSION, other]
    assert list(SessionLogs(tmp_path / "none").ids()) == []


async def test_k10_k11_turns_go_on_counting_after_a_resume(
    two_turns: bytes, tmp_path: Path
) -> None:
    log = read_lines(two_turns.splitlines(True))
    resumed = resume(log)
    talk = rig("<final>drei</final>", resumed=resumed)
    await talk.session.run_turn("three")
    assert [e.turn for e in talk.told()] == [None, *[3] * 4]
    assert [e.seq for e in talk.told()] == list(range(log.last_seq + 1, log.last_seq + 6))
    assert talk.spoken.asked[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert Message("user", "three") in talk.session.chat_history
    assert json.loads(two_turns.splitlines()[0])["meta"]["systemPrompt"] == "Be brief."
