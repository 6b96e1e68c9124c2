"""The code that one message passes: `python -m benchmarks.message_path KIND [--json]`.

Counts the modules, functions and calls of the product, and the tasks, of one message in the built
application, in this process: with SQLite, sample mode and thirty chunks. A `stored` message is the
second one of its chat. A coroutine that goes on after a wait counts as a call, and so does a
comprehension before Python 3.12. `tests/web/test_message_path.py` limits these figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from types import CoroutineType, FrameType, MappingProxyType
from typing import Any, NamedTuple

from starlette.types import ASGIApp

from benchmarks.processes import ROOT

PRODUCT = f"{ROOT / 'functions' / 'kefu'}{os.sep}"
KINDS = ("stateless", "stored")
TRIES = 2
"""Messages that are counted. The one with the fewest calls is the result: during another one, the
service may do work of its own.
"""
WRITES = 0.2
"""Seconds after the response in which what follows it is counted, too."""


class Passed(NamedTuple):
    """What one message has passed."""

    calls: Mapping[tuple[str, str], int]
    """The number of calls by module and function, in the order of the first calls."""
    tasks: Sequence[str]
    """The coroutines that became tasks."""

    @property
    def figures(self) -> dict[str, int]:
        return {
            "modules": len({module for module, _ in self.calls}),
            "functions": len(self.calls),
            "calls": sum(self.calls.values()),
            "tasks": len(self.tasks),
        }


@contextmanager
def counted(calls: Counter[tuple[str, str]], tasks: list[str]) -> Iterator[None]:
    """Inside the context, calls of product code and new tasks are counted."""

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PRODUCT):
            calls[frame.f_code.co_filename[len(PRODUCT) :], frame.f_code.co_qualname] += 1

    def task(
        loop: asyncio.AbstractEventLoop, coroutine: CoroutineType[Any, Any, Any], **named: Any
    ) -> asyncio.Task[Any]:
        tasks.append(coroutine.__qualname__)
        return asyncio.Task(coroutine, loop=loop, **named)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(task)  # type: ignore[arg-type]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        loop.set_task_factory(None)


@asynccontextmanager
async def started(app: ASGIApp) -> AsyncIterator[None]:
    """The lifespan of the application."""
    events: asyncio.Queue[Any] = asyncio.Queue()
    is_up = asyncio.Event()

    async def send(message: Any) -> None:
        assert "failed" not in message["type"], message
        is_up.set()

    async def lifespan() -> None:
        await app({"type": "lifespan", "state": {}}, events.get, send)

    running = asyncio.create_task(lifespan())
    await events.put({"type": "lifespan.startup"})
    await is_up.wait()
    try:
        yield
    finally:
        await events.put({"type": "lifespan.shutdown"})
        await running


async def ask(
    app: ASGIApp, body: Mapping[str, Any], headers: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Send a message, and read its whole answer. Returns the headers of the response."""
    sent: list[Any] = []
    has_ended = asyncio.Event()
    requests = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

    async def receive() -> Any:
        if requests:
            return requests.pop()
        await has_ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"content-type": "application/json", "host": "localhost", **headers}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/chat",
        "raw_path": b"/api/chat",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "state": {},
    }
    await app(scope, receive, send)
    has_ended.set()
    answered = b"".join(message.get("body", b"") for message in sent)
    assert sent[0]["status"] == 200, answered
    assert answered.endswith(b"data: [DONE]\n\n"), answered
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


async def passed(app: ASGIApp, kind: str, number: int) -> Passed:
    """Count one message."""
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "and how much?"}]}
    headers = dict[str, str]()
    if kind == "stored":
        first = await ask(app, {"message": "hello", "client_message_id": f"message-1-{number}"})
        headers = {"x-session-token": first["x-session-token"]}
        body = {"message": "and how much?", "client_message_id": f"message-2-{number}"}
        body["session_id"] = first["x-session-id"]
    calls, tasks = Counter[tuple[str, str]](), list[str]()
    with counted(calls, tasks):
        await ask(app, body, headers)
        await asyncio.sleep(WRITES)
    return Passed(calls, tasks)


async def traced(kind: str, folder: Path) -> Passed:
    from kefu.bootstrap.service import build
    from kefu.settings import load

    store = f"sqlite:///{folder / 'kefu.sqlite3'}"
    app = build(load({"KEFU_STORE": store, "KEFU_MODEL": "sample"})).app
    async with started(app):
        await ask(app, {"messages": [{"role": "user", "content": "The first one imports more."}]})
        tries = [await passed(app, kind, number) for number in range(TRIES)]
    return min(tries, key=lambda one: one.figures["calls"])


def table(found: Passed) -> str:
    """The modules in the order of their first calls, with what was called in them."""
    functions: defaultdict[str, list[str]] = defaultdict(list)
    calls = Counter[str]()
    for (module, function), number in found.calls.items():
        functions[module].append(function.rpartition(".")[2])
        calls[module] += number
    lines = [f"{'module':40} functions  calls"]
    for module, names in functions.items():
        lines.append(f"{module:40} {len(names):9}  {calls[module]:5}  {' '.join(names)}"[:160])
    figures = [f"{number} {name}" for name, number in found.figures.items()]
    lines += [f"tasks: {', '.join(found.tasks)}", ", ".join(figures)]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.message_path")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--json", action="store_true", help="only the figures")
    given = parser.parse_args()
    # To write the log is a part of the way, but not of the result.
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(StringIO()):
        found = asyncio.run(traced(given.kind, Path(folder)))
    print(json.dumps(found.figures) if given.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
