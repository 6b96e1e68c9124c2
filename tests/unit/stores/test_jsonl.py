"""S20: a session's log belongs to the user who wrote it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kefu.agent.events import AgentSessionId
from kefu.stores.jsonl import JsonlHistorySink

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
