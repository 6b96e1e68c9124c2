"""A process that is killed while it opens the file of an earlier version loses nothing.

What the earlier version said about its chats is compared with what today's store says, after a
second process has opened the file. `tests/web/test_earlier_versions.py` continues the chats.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kefu.sessions.store.model import SessionId
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.store import SqliteStore
from kefu.web.admin.view import ChatExport, row
from tests.contract import killed
from tests.contract.killed import LONGEST
from tests.fakes.forked import kefu
from tests.fixtures.earlier import VERSIONS, copy_file, facts, is_in
from tests.parts.plugin import daily

POINTS = [f"{tenths}/10" for tenths in range(1, 10)]


def opened(file: Path, unit: str, number: int) -> tuple[int, str]:
    """The exit code and the output of a process that opens the file."""
    ran = kefu(str(file), unit, str(number), folder=file.parent, main=killed.main)
    return ran.returncode, ran.stdout + ran.stderr


def longest_of(folder: Path) -> int:
    return max(path.stat().st_size for path in folder.iterdir())


async def check(chats: Sessions, said: Mapping[str, Any]) -> None:
    """All chats with their messages and calls, the list and the requests for a person."""
    now = time.time()
    for kept in said["chats"].values():
        name = SessionId(kept["id"])
        session = await chats.session(name)
        assert session is not None
        messages = await chats.messages(name, limit=100, now=now)
        whole = ChatExport(session, messages, await chats.calls(name))
        assert is_in({**kept["operator"], "before": None}, {**_plain(whole.json()), "before": None})
    page = await chats.newest(SessionFilter(), None, 20, now)
    rows = [_plain(row(one)) for one in page.rows if one.session.id != said["pending"]["id"]]
    assert is_in(said["rows"], rows)
    assert is_in(said["contacts"], [one._asdict() for one in await chats.contacts(20)])
    *_, killed = await chats.messages(SessionId(said["pending"]["id"]), limit=9, now=now)
    assert (killed.content, killed.status) == ("Who is killed?", "interrupted")
    assert await chats.session(SessionId(said["gone"]["id"])) is None


def _plain(content: Any) -> Any:
    """As JSON has it, with lists in place of tuples."""
    return json.loads(json.dumps(content))


async def check_file(file: Path, version: str) -> None:
    """In this process, as a server that starts."""
    store = SqliteStore(file, time.time)
    store.warm()
    await check(store.sessions(LONGEST), facts(version, "sqlite"))
    await store.aclose()
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The number of steps of a whole opening, by version."""
    found = {}
    for version in VERSIONS:
        file = copy_file(version, tmp_path_factory.mktemp("whole"))
        code, said = opened(file, "steps", 0)
        assert code == 0, said
        found[version] = int(said)
    return found


@pytest.mark.parametrize("point", daily(POINTS, "1/10", "4/10", "7/10", "9/10"))
async def test_process_killed_while_it_opens_an_earlier_file_loses_nothing(
    version: str, point: str, lengths: Mapping[str, int], tmp_path: Path
) -> None:
    """SIGKILL in a statement: while it migrates, frees turns, or indexes words."""
    file = copy_file(version, tmp_path)
    step = max(1, lengths[version] * int(point.partition("/")[0]) // 10)
    code, said = opened(file, "steps", step)
    assert code == -signal.SIGKILL, said
    await check_file(file, version)


@pytest.mark.parametrize("kibibytes", daily(["1", "5", "20", "60"], "5"))
async def test_process_killed_in_a_write_of_an_earlier_file_loses_nothing(
    version: str, kibibytes: str, tmp_path: Path
) -> None:
    """SIGXFSZ: the kernel ends the process in the middle of a write to the log."""
    file = copy_file(version, tmp_path)
    code, said = opened(file, "bytes", longest_of(tmp_path) + 1024 * int(kibibytes))
    assert code in (-signal.SIGXFSZ, 0), said
    assert code or kibibytes != "5", "it was not killed"
    await check_file(file, version)


async def test_process_killed_twice_loses_nothing(
    version: str, lengths: Mapping[str, int], tmp_path: Path
) -> None:
    """The second one is killed while it goes on, unless the first one had done all but a little."""
    file = copy_file(version, tmp_path)
    for part in (0.6, 0.3):
        code, said = opened(file, "steps", max(1, int(lengths[version] * part)))
        assert code == -signal.SIGKILL or (part == 0.3 and code == 0), said
    await check_file(file, version)
