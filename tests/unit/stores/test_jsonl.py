"""S20: a session's log belongs to the user who wrote it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.agent.events import AgentSessionId, Assistant, SessionEvent
from kefu.errors import HistoryBusy, HistoryUnavailable
from kefu.stores.jsonl import JsonlHistorySink, SessionLogs

SESSION = AgentSessionId("sess_01ARZ3NDEKTSV4RRFFQ69G5FAV")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_s20_a_log_and_its_folder_are_open_to_their_owner_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        sink = JsonlHistorySink(tmp_path / "sessions", SESSION)
    finally:
        os.umask(umask)
    sink.close()
    assert (mode(tmp_path / "sessions"), mode(sink.path)) == (0o700, 0o600)


OTHER = AgentSessionId("sess_01ARZ3NDEKTSV4RRFFQ69G5FAW")
EVENT = SessionEvent(1.0, SESSION, 1, Assistant("hello"), 1, 0)


def test_s20_a_kept_log_is_read_as_it_was_and_kept_once(tmp_path: Path) -> None:
    logs = SessionLogs(tmp_path / "sessions")
    assert logs.ids() == []
    path = logs.keep(SESSION, [EVENT])
    assert path == logs.place(SESSION) == str(tmp_path / "sessions" / f"{SESSION}.jsonl")
    assert logs.read(SESSION).events == (EVENT,)
    with pytest.raises(HistoryUnavailable, match="already exists"):
        logs.keep(SESSION, [])
    assert logs.read(SESSION).events == (EVENT,)


def test_s20_a_log_that_could_not_be_kept_whole_can_be_kept_again(tmp_path: Path) -> None:
    def failing() -> Iterator[SessionEvent]:
        yield EVENT
        raise OSError(errno.ENOSPC, "No space left on device")

    logs = SessionLogs(tmp_path)
    (tmp_path / f"{SESSION}.part").write_bytes(b"left by a process that was killed")
    with pytest.raises(HistoryUnavailable, match="No space left"):
        logs.keep(SESSION, failing())
    assert list(tmp_path.iterdir()) == []
    umask = os.umask(0)
    try:
        path = Path(logs.keep(SESSION, [EVENT]))
    finally:
        os.umask(umask)
    assert (mode(path), list(tmp_path.iterdir())) == (0o600, [path])


def test_s20_logs_are_listed_from_the_newest_and_other_files_are_not(tmp_path: Path) -> None:
    logs = SessionLogs(tmp_path)
    for at, session in ((1, OTHER), (2, SESSION)):
        os.utime(logs.keep(session, []), (at, at))
    for name in ("notes.jsonl", SESSION, f"{SESSION}.xml", f"{SESSION}x.jsonl"):
        (tmp_path / name).touch()
    assert logs.ids() == [SESSION, OTHER]
    os.utime(logs.place(OTHER), (3, 3))
    assert logs.ids() == [OTHER, SESSION]


def test_s20_a_log_that_is_open_is_not_removed(tmp_path: Path) -> None:
    logs = SessionLogs(tmp_path)
    sink = JsonlHistorySink(tmp_path, SESSION)
    with pytest.raises(HistoryBusy):
        logs.remove(SESSION)
    assert logs.ids() == [SESSION]
    sink.close()
    logs.remove(SESSION)
    assert logs.ids() == []
    with pytest.raises(HistoryUnavailable, match="there is no session"):
        logs.remove(SESSION)
    with pytest.raises(HistoryUnavailable, match="No such file"):
        logs.read(SESSION)
