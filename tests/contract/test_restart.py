"""H17: a server that is alone on its SQLite file frees the turns of the one before it."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from kefu.sessions.store.model import LEASE, NewMessage, Retention
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import ONE, ask, new
from tests.contract.engines import HandClock

AGAIN = NewMessage("question", "client 1")


@asynccontextmanager
async def opened(file: Path, clock: HandClock, *, serves: bool = True) -> AsyncIterator[Sessions]:
    """Open the file as a server does at its start, or as a command for operators."""
    store = SqliteStore(file, clock)
    if serves:
        store.warm()
    chats = store.sessions(Retention())
    await chats.session(ONE)  # the file is open now
    yield chats
    await store.aclose()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kefu.sqlite3"


async def statuses(chats: Sessions, clock: HandClock) -> set[str]:
    """The status of the question, and that of its chat in the list."""
    rows = (await chats.newest(SessionFilter(), None, 9, clock.now)).rows
    kept = await chats.messages(ONE, now=clock.now)
    return {*(row.status for row in rows), *(message.status for message in kept)}


@pytest.mark.parametrize("ahead", [0, 3600])
async def test_h17_turns_of_the_server_before_are_free_at_once(
    file: Path, clock: HandClock, ahead: float
) -> None:
    """H17: also if the clock was ahead. A second start of the file does not free later turns."""
    clock.now += ahead
    async with opened(file, clock) as chats:
        await ask(chats, clock, "question", "client 1")
    clock.now -= ahead - 1
    async with opened(file, clock) as chats:
        assert await statuses(chats, clock) == {"interrupted"}
        begun = await chats.begin(new(ONE, 0.0), AGAIN, clock.now)
        assert (begun.busy_for, begun.retries) == (0.0, 1)
        assert await statuses(chats, clock) == {"pending"}


async def test_h17_turns_of_a_running_server_are_left_to_it(file: Path, clock: HandClock) -> None:
    """H17: a second server starts beside it, and a third one after the first has ended."""
    async with AsyncExitStack() as running:
        async with opened(file, clock) as first:
            asked = await ask(first, clock, "question", "client 1")
            second = await running.enter_async_context(opened(file, clock))
            assert (await second.begin(new(ONE, 0.0), AGAIN, clock.now)).busy_for == LEASE
            clock.now += LEASE / 2
            assert await first.renew(ONE, asked.id, 0, clock.now)
        third = await running.enter_async_context(opened(file, clock))
        assert (await third.begin(new(ONE, 0.0), AGAIN, clock.now)).busy_for == LEASE
        clock.now += LEASE
        assert (await third.begin(new(ONE, 0.0), AGAIN, clock.now)).retries == 1


async def test_h17_a_command_that_reads_the_file_is_no_server(file: Path, clock: HandClock) -> None:
    """H17: it frees no turn, and does not keep the next server from doing so."""
    async with opened(file, clock) as chats:
        await ask(chats, clock, "question", "client 1")
    async with opened(file, clock, serves=False) as command:
        assert await statuses(command, clock) == {"pending"}
        async with opened(file, clock):
            assert await statuses(command, clock) == {"interrupted"}


def _a_folder(lock: Path) -> None:
    lock.mkdir()


def _a_dangling_link(lock: Path) -> None:
    lock.symlink_to(lock.parent / "not there" / "lock")


@pytest.mark.parametrize("in_the_way", [_a_folder, _a_dangling_link])
async def test_h17_without_a_lock_a_lease_ends_after_its_time(
    file: Path, clock: HandClock, in_the_way: Callable[[Path], None]
) -> None:
    in_the_way(file.with_name(f"{file.name}-lock"))
    async with opened(file, clock) as chats:
        await ask(chats, clock, "question", "client 1")
    async with opened(file, clock) as chats:
        assert (await chats.begin(new(ONE, 0.0), AGAIN, clock.now)).busy_for == LEASE
        clock.now += LEASE
        assert (await chats.begin(new(ONE, 0.0), AGAIN, clock.now)).retries == 1


async def test_the_lock_is_its_owners_only_and_empty(file: Path, clock: HandClock) -> None:
    async with opened(file, clock):
        found = file.with_name(f"{file.name}-lock").stat()
        assert (stat.S_IMODE(found.st_mode), found.st_size) == (0o600, 0)
