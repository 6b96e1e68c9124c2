"""One Lambda execution environment: the Runtime API for the processes of a function.

AWS's own emulator (RIE) buffers streamed answers, so it cannot show whether the function streams.
This implementation follows AWS's documents on `next`, `response`, `error`, `init/error`,
extensions, deadlines, time-outs and freezing, and the requests of the crate `lambda_runtime`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from aiohttp import web

Launch = Callable[[str], Sequence["subprocess.Popen[bytes]"]]
"""Starts the processes of an instance, given the address of its Runtime API; each in a session of
its own."""


class FunctionError(Exception):
    """An invocation ended before its answer was complete."""


class Invocation:
    def __init__(self, event: object) -> None:
        self.event = event
        self.id = str(uuid.uuid4())
        self.streamed = False
        self.ended = asyncio.Event()
        self.ended_at: float | None = None
        """`time.monotonic()` at which the function had said everything."""
        self._parts: asyncio.Queue[bytes | FunctionError | None] = asyncio.Queue()

    def feed(self, part: bytes) -> None:
        self._parts.put_nowait(part)

    def end(self, error: FunctionError | None = None) -> None:
        """End the answer. Further calls have no effect."""
        if self.ended_at is None:
            self.ended_at = time.monotonic()
            self.ended.set()
            self._parts.put_nowait(error)

    async def parts(self) -> AsyncIterator[bytes]:
        """The parts of the answer as they arrive. Raises FunctionError when it breaks off."""
        while (part := await self._parts.get()) is not None:
            if isinstance(part, FunctionError):
                raise part
            yield part


class Instance:
    """Serves one invocation at a time; with `freezing` it is stopped between two invocations.

    With `slots` it serves so many at once, as on Lambda Managed Instances.
    """

    def __init__(self, launch: Launch, *, timeout: float, freezing: bool, slots: int = 1) -> None:
        self.alive = True
        self.processes: Sequence[subprocess.Popen[bytes]] = ()
        self._launch = launch
        self._timeout = timeout
        self._freezing = freezing
        self._slots = slots
        self._given: dict[str, Invocation] = {}
        """The invocations of the instance, also those that it has not fetched yet."""
        self._asked: asyncio.Queue[Invocation] = asyncio.Queue()
        self._idle = asyncio.Event()
        self._running: Invocation | None = None

    async def start(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        runtime = "/2018-06-01/runtime"
        app.router.add_get(f"{runtime}/invocation/next", self._next)
        app.router.add_post(f"{runtime}/invocation/{{id}}/response", self._response)
        app.router.add_post(f"{runtime}/invocation/{{id}}/error", self._error)
        app.router.add_post(f"{runtime}/init/error", self._init_error)
        app.router.add_post("/2020-01-01/extension/register", self._register)
        app.router.add_get("/2020-01-01/extension/event/next", self._extension_next)
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.processes = self._launch(f"{host}:{port}")
        self._watching = asyncio.create_task(self._watch())

    async def invoke(self, event: object) -> Invocation:
        """Pass an event to the function. The invocation's `parts` are its answer."""
        invocation = Invocation(event)
        self._given[invocation.id] = invocation
        self._signal(signal.SIGCONT)
        self._asked.put_nowait(invocation)
        return invocation

    async def free(self) -> bool:
        """Whether it can take an event. Waits a moment for a function whose answer has just
        ended.
        """
        if self._slots > 1:
            given = self._given.values()
            self._given = {one.id: one for one in given if not one.ended.is_set()}
        elif any(one.ended.is_set() for one in self._given.values()):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._idle.wait()
        return self.alive and self._all_run() and len(self._given) < self._slots

    def kill(self, why: str) -> None:
        """Kill the environment by SIGKILL, as Lambda does after a time-out."""
        self.alive = False
        self._signal(signal.SIGKILL)
        for invocation in self._given.values():
            invocation.end(FunctionError(why))

    async def shut_down(self) -> list[int]:
        """Lambda's Shutdown phase: SIGTERM, and SIGKILL after 2 s. Returns the exit codes."""
        self.alive = False
        self._watching.cancel()
        self._signal(signal.SIGCONT)
        self._signal(signal.SIGTERM)
        end = time.monotonic() + 2
        while self._any_runs() and time.monotonic() < end:  # noqa: ASYNC110 - no event for it
            await asyncio.sleep(0.02)
        self._signal(signal.SIGKILL)
        codes = [await asyncio.to_thread(process.wait) for process in self.processes]
        await self._runner.cleanup()
        return codes

    def _signal(self, number: signal.Signals) -> None:
        for process in self.processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)

    def _any_runs(self) -> bool:
        return any(process.poll() is None for process in self.processes)

    def _all_run(self) -> bool:
        return all(process.poll() is None for process in self.processes)

    async def _watch(self) -> None:
        """If a process ends, end the whole environment."""
        while self._all_run():  # noqa: ASYNC110 - no event for it
            await asyncio.sleep(0.02)
        self.kill("Runtime exited")

    async def _next(self, request: web.Request) -> web.StreamResponse:
        if self._running and self._slots == 1:
            # The Web Adapter polls while its answer still streams. Lambda waits for the end of the
            # answer.
            await self._running.ended.wait()
            self._given.pop(self._running.id, None)
            self._running = None
        self._idle.set()
        if self._freezing and self._asked.empty():
            self._signal(signal.SIGSTOP)
        self._running = invocation = await self._asked.get()
        self._idle.clear()
        deadline = time.time() + self._timeout
        asyncio.get_running_loop().call_later(self._timeout, self._time_out, invocation)
        return web.Response(
            body=json.dumps(invocation.event).encode(),
            content_type="application/json",
            headers={
                "Lambda-Runtime-Aws-Request-Id": invocation.id,
                "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000)),
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-central-1:0:function:f",
                "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700",
            },
        )

    def _time_out(self, invocation: Invocation) -> None:
        if invocation.ended_at is None:
            self.kill("Task timed out")

    async def _response(self, request: web.Request) -> web.StreamResponse:
        invocation = self._of(request)
        mode = request.headers.get("Lambda-Runtime-Function-Response-Mode")
        invocation.streamed = mode == "streaming"
        try:
            async for part, _ in request.content.iter_chunks():
                invocation.feed(part)
        except ConnectionError:
            invocation.end(FunctionError("the answer broke off"))
            raise
        invocation.end()
        return web.Response(status=202)

    async def _error(self, request: web.Request) -> web.StreamResponse:
        self._of(request).end(FunctionError(await request.text()))
        return web.Response(status=202)

    async def _init_error(self, request: web.Request) -> web.StreamResponse:
        self.kill(await request.text())
        return web.Response(status=202)

    def _of(self, request: web.Request) -> Invocation:
        if invocation := self._given.get(request.match_info["id"]):
            return invocation
        raise web.HTTPForbidden(text="InvalidRequestID")

    async def _register(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        assert set(body["events"]) <= {"INVOKE", "SHUTDOWN"}
        answer = {"functionName": "kefu", "functionVersion": "$LATEST", "handler": "run.sh"}
        return web.json_response(answer, headers={"Lambda-Extension-Identifier": "1"})

    async def _extension_next(self, request: web.Request) -> web.StreamResponse:
        return await asyncio.Future()
