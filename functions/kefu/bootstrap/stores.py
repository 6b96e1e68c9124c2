"""Chooses the store from the settings, and wraps it against failures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.constants import CONSTANTS, FILE_MEGABYTES, MEMORY_MEGABYTES, Constants
from kefu.settings import Settings
from kefu.stores.guarded.cooldowns import GuardedCooldowns
from kefu.stores.guarded.leases import LeasedLimits
from kefu.stores.guarded.limits import GuardedLimits
from kefu.stores.guarded.store import GuardedStore, Store
from kefu.stores.memory import MemoryStore
from kefu.web.log import RequestLog

if TYPE_CHECKING:
    from kefu.bootstrap.constants import Constants
    from kefu.sessions.store.ports import Sessions


_MEGABYTE_BYTES = 1_000_000


def open_store(
    settings: Settings, clock: SystemClock, log: RequestLog, constants: Constants
) -> GuardedStore:
    """The store of the settings. The store connects at its first use, or by `warm`."""
    store = choose_store(settings, clock)
    needed = settings.keeps_chats or settings.contact_form
    sessions = sessions_of(store, settings, constants) if needed else None
    if isinstance(store, MemoryStore):
        return _guarded(settings, GuardedStore(store, store, store), sessions)
    cooldowns = GuardedCooldowns(
        store, clock.now, timeout=constants.store_timeout, on_degraded=log.degraded
    )
    limits = LeasedLimits(
        GuardedLimits(store, MemoryStore(clock.now), cooldowns.circuit), clock.now
    )
    circuits = [cooldowns.circuit]
    if sessions:
        from kefu.stores.guarded.sessions import SESSIONS_TIMEOUT, GuardedSessions

        limit = max(SESSIONS_TIMEOUT, constants.store_timeout)
        sessions = GuardedSessions(sessions, timeout=limit, on_degraded=log.degraded)
        circuits.append(sessions.circuit)
    made = GuardedStore(store, cooldowns, limits, leases=limits, circuits=circuits)
    return _guarded(settings, made, sessions)


def _guarded(settings: Settings, made: GuardedStore, sessions: Sessions | None) -> GuardedStore:
    return made._replace(
        sessions=sessions if settings.keeps_chats else None,
        contacts=sessions if settings.contact_form else None,
    )


def made_folder(store: str) -> str:
    """A sentence about a relative path whose folder does not exist: it may be a slip; "" if not."""
    kind, _, name = store.partition(":///")
    file = Path(name)
    if kind != "sqlite" or file.is_absolute() or file.parent.exists():
        return ""
    return (
        f"The store is {file.absolute()}, in a new folder. A path from the root has four slashes: "
        f"sqlite:////{name}."
    )


def choose_store(settings: Settings, clock: SystemClock) -> Store:
    """The store of the settings, without guards."""
    # Each engine is imported only when it is chosen, to keep cold starts short.
    kind, _, name = settings.store.partition(":")
    if kind == "sqlite":
        from kefu.stores.sqlite.store import SqliteStore

        return SqliteStore(name.removeprefix("///"), clock.now)
    if kind == "postgresql":
        from kefu.stores.postgresql.store import PostgresStore

        password = settings.store_password.get_secret_value()
        return PostgresStore(settings.store, clock.now, password)
    if kind == "dynamodb":
        from kefu.stores.dynamodb.store import DynamoStore

        return DynamoStore(name.removeprefix("//"), clock.now)
    return MemoryStore(clock.now)


@asynccontextmanager
async def open_chats(
    settings: Settings, clock: SystemClock, *, or_requests: bool = False, makes: bool = False
) -> AsyncIterator[Sessions]:
    """The stored chats, for a command. Raises OSError when there are none.

    `or_requests`: requests for a person are enough, which are stored without chats, too. `makes`:
    a file that does not exist is made.
    """
    _check_chats(settings, or_requests=or_requests, makes=makes)
    store = choose_store(settings, clock)
    try:
        yield sessions_of(store, settings, CONSTANTS)
    finally:
        await store.aclose()


def _check_chats(settings: Settings, *, or_requests: bool, makes: bool) -> None:
    """Raises OSError when no chats are stored. Opening a SQLite file would make it."""
    kind, _, name = settings.store.partition(":")
    file = name.removeprefix("///")
    is_stored = settings.keeps_chats or (or_requests and settings.contact_form)
    if kind == "memory" or not is_stored:
        raise FileNotFoundError("Chats are not stored: KEFU_STORE and KEFU_SESSIONS say so.")
    if kind == "sqlite" and not makes and not Path(file).is_file():
        raise FileNotFoundError(f"{file} does not exist: there is no chat yet.")


def limit_of(store: str, megabytes: int | None = None) -> int:
    """Bytes that the store of this address may take; 0: no limit.

    `megabytes`: the constant `store_max_mb`; None: not set. A file may take a tenth of its disk,
    and a gigabyte in any case: anonymous visitors must not fill it.
    """
    if megabytes is not None:
        return megabytes * _MEGABYTE_BYTES
    kind, _, name = store.partition(":")
    if kind == "sqlite":
        import shutil  # here: only a store in a file needs it

        above = Path(name.removeprefix("///")).absolute().parents
        disk = shutil.disk_usage(next(folder for folder in above if folder.exists()))
        return max(FILE_MEGABYTES * _MEGABYTE_BYTES, disk.total // 10)
    return MEMORY_MEGABYTES * _MEGABYTE_BYTES if kind == "memory" else 0


def sessions_of(store: Store, settings: Settings, constants: Constants) -> Sessions:
    """The stored chats, kept for as long as the settings say."""
    from kefu.sessions.store.model import Retention

    raw_days = min(constants.raw_days, settings.session_days)
    return store.sessions(Retention(session=86400 * settings.session_days, raw=86400 * raw_days))
