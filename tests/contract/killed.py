"""A process that opens an SQLite file as a server does, and dies on the way.

`main` with FILE, `steps` and N kills itself by SIGKILL after N steps of 100 instructions of
SQLite's virtual machine. With `bytes` it ends by SIGXFSZ in the middle of the write that would make
a file longer than N bytes. With `steps 0` it prints the number of all steps.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from kefu.sessions.store.model import Retention
from kefu.sessions.store.overview import SessionFilter
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.engines import settled

YEARS = 10 * 365 * 86400.0
LONGEST = Retention(YEARS, YEARS)


class Steps:
    last = 0

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0


STEPS = Steps()


class Counted(sqlite3.Connection):
    """A connection of the real module whose instructions count."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.set_progress_handler(STEPS, 100)


async def opened(file: str) -> None:
    """Migrate the file, end the turns of the killed server, index the words, and clean up."""
    store = SqliteStore(file, time.time)
    store.warm()
    chats = store.sessions(LONGEST)
    while (await chats.newest(SessionFilter(text="Svalbard"), None, 9, time.time())).waiting:
        pass
    await settled(store._file)
    await store.aclose()


def main(arguments: Sequence[str]) -> int:
    file, unit, number = arguments
    if unit == "steps":
        STEPS.last = int(number)
    else:
        # Python ignores the signal, and writes would fail instead.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), int(number)))
    sqlite3.connect = partial(sqlite3.connect, factory=Counted)  # type: ignore[assignment]
    asyncio.run(opened(file))
    print(STEPS.count)
    return 0
