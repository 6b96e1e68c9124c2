"""A separate process that uses one store.

It is `sqlite:///FILE`, `postgresql://…` or `dynamodb://TABLE`. Each line on stdin is a JSON list
with the name of an operation and its arguments. Each line on stdout is the result, or
{"unavailable": reason}. The first operation opens the store.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kefu.chat.limits import Rate
from kefu.errors import StoreUnavailable
from kefu.relay.key_pool import Cooldown, Cooldowns, Fingerprint, Reason
from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.sql.store import SqlStore
from kefu.stores.sqlite.store import SqliteStore
from tests.fakes.forked import CONTEXT, ForkedProcess
from tests.fakes.running import Running


class Child(Running):
    """The parent's side: starts the process, sends operations and reads their results."""

    def __init__(self, store: str, environment: Mapping[str, str] | None = None) -> None:
        read, self._stdin = CONTEXT.Pipe(duplex=False)
        self._stdout, written = CONTEXT.Pipe(duplex=False)
        self._lines = open(self._stdout.fileno(), closefd=False)  # noqa: SIM115 - until `stop`
        self.process = ForkedProcess(
            [store],
            folder=Path.cwd(),
            environment={**os.environ, **(environment or {})},
            stdin=read,
            stdout=written,
            stderr=None,
            main=main,
        )
        read.close()
        written.close()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for end in (self._lines, self._stdin, self._stdout):
            end.close()

    def ask(self, operation: str, *arguments: object) -> Any:
        self.begin(operation, *arguments)
        return self.answer()

    def sees(self, cooldowns: Mapping[str, object]) -> bool:
        """Whether the process reads these cooldowns. DynamoDB's reads may be outdated for a
        moment.
        """
        for _ in range(100):
            if self.ask("cooldowns") == cooldowns:
                return True
            time.sleep(0.05)
        return False

    def begin(self, operation: str, *arguments: object) -> None:
        os.write(self._stdin.fileno(), json.dumps([operation, *arguments]).encode() + b"\n")

    def answer(self) -> Any:
        line = self._lines.readline()
        assert line, "the child ended"
        return json.loads(line)


Either = SqlStore | DynamoStore


def _plain(view: Cooldowns) -> dict[str, list[object]]:
    return {key: [cooldown.until, cooldown.reason.value] for key, cooldown in view.items()}


async def _do(store: Either, operation: str, *arguments: Any) -> object:
    return await OPERATIONS[operation](store, *arguments)


async def _ready(store: Either) -> bool:
    return True


async def _limit_file_size(store: Either, size: int) -> bool:
    """Limit the size of files in bytes, which simulates a full disk; -1: no limit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return True


async def _cooldowns(store: Either) -> object:
    return _plain(await store.cooldowns())


async def _cool(store: Either, key: str, until: float, reason: str) -> object:
    return _plain(await store.cool(Fingerprint(key), Cooldown(until, Reason(reason))))


async def _take(store: Either, bucket: str, requests: int, period: float, times: int) -> int:
    """Send `times` requests at once. Returns the number of those that were admitted."""
    rate = Rate(requests, period)
    waits = await asyncio.gather(*(store.take(bucket, rate) for _ in range(times)))
    return sum(wait == 0 for wait in waits)


async def _reserve(store: Either, budget: str, amount: int, limit: int, times: int) -> int:
    fits = await asyncio.gather(*(store.reserve(budget, amount, limit) for _ in range(times)))
    return sum(map(bool, fits))


async def _chat(store: Either, name: str, turns: int) -> int:
    """Store a new session with so many turns. Returns its number of messages."""
    sessions = store.sessions(Retention())
    session = Session(SessionId(name), "chat", "default", time.time(), 0.0)
    for number in range(turns):
        now = session.created_at if number == 0 else time.time()
        begun = await sessions.begin(session, NewMessage(f"question {number}", f"id {number}"), now)
        ended = TurnOutcome("ok", f"answer {number}", 2, 1)
        await sessions.finish(session.id, begun.message.id, ended, time.time())
    return len(await sessions.messages(session.id, limit=1000, now=time.time()))


OPERATIONS: dict[str, Callable[..., Awaitable[object]]] = {
    "ready": _ready,
    "limit file size": _limit_file_size,
    "cooldowns": _cooldowns,
    "cool": _cool,
    "take": _take,
    "reserve": _reserve,
    "chat": _chat,
}


async def _main(url: str) -> None:
    engine, _, name = url.partition("://")
    store: Either
    if engine == "sqlite":
        store = SqliteStore(name.removeprefix("/"), time.time)
    elif engine == "postgresql":
        # Not at the top: the others need no PostgreSQL, and no pytest.
        from kefu.stores.postgresql.store import PostgresStore

        store = PostgresStore(url, time.time)
    else:
        from tests.contract.engines import patient

        store = patient(DynamoStore(name, time.time))
    for line in sys.stdin:
        try:
            answer = await _do(store, *json.loads(line))
        except StoreUnavailable as error:
            answer = {"unavailable": str(error)}
        print(json.dumps(answer), flush=True)


def main(arguments: Sequence[str]) -> int:
    asyncio.run(_main(*arguments))
    return 0
