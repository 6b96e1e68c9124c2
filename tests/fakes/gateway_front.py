"""API Gateway's REST API in front of a Lambda function that streams its answers.

The limits are those of AWS's developer guide, "Set up a Lambda proxy integration with payload
response streaming". The prelude (a JSON object with status and headers, then eight NUL bytes) must
be in the first 16 KB. The first 10 MB are sent at full speed, the rest at 2 MB/s. A stream ends
after five minutes of silence (30 s at an edge-optimised endpoint). The function does not learn that
a client has disconnected.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.fakes.lambda_instance import FunctionError, Instance, Invocation, Launch
from tests.fakes.running import Running

PRELUDE = 16 * 1024
END_OF_PRELUDE = b"\0" * 8
LARGEST_REQUEST = 10 * 1024 * 1024
FREE = 10 * 1024 * 1024
RATE = 2 * 1024 * 1024
"""Bytes a second beyond FREE."""

T = TypeVar("T")


class BadAnswer(Exception):
    """The function's response is not a valid streamed response of an integration."""


class GatewayFront(Running):
    """`with GatewayFront(launch) as front:` starts a gateway at `front.url`.

    A request that arrives while all instances are busy starts another instance, as on Lambda.
    """

    def __init__(
        self,
        launch: Launch,
        *,
        timeout: float = 30.0,
        idle_timeout: float = 300.0,
        freezing: bool = False,
        slots: int = 1,
    ) -> None:
        """`slots`: the number of concurrent answers of an instance."""
        self.url = ""
        self.instances: list[Instance] = []
        self.invocations: list[Invocation] = []
        self._launch = launch
        self._timeout = timeout
        self._idle_timeout = idle_timeout
        self._freezing = freezing
        self._slots = slots
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the gateway's event loop, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def invoke(self, event: object) -> bytes:
        """Invoke the function with an event that comes from no gateway. Returns its answer.

        Raises FunctionError.
        """
        invoking = asyncio.run_coroutine_threadsafe(self._invoke(event), self._loop)
        return await asyncio.wrap_future(invoking)

    async def _invoke(self, event: object) -> bytes:
        instance = await self._instance()
        invocation = await instance.invoke(event)
        return b"".join([part async for part in invocation.parts()])

    def start(self) -> Self:
        self._thread.start()
        self.call(self._listen())
        return self

    def stop(self) -> list[list[int]]:
        """Stop all instances. Returns the exit codes of their processes; an empty list the second
        time.
        """
        if self._loop.is_closed():
            return []
        try:
            return self.call(self._close())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)
            self._loop.close()

    async def _listen(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._proxy)
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def _close(self) -> list[list[int]]:
        await self._runner.cleanup()
        ends = [instance.shut_down() for instance in self.instances]
        alive = [instance.alive for instance in self.instances]
        codes = await asyncio.gather(*ends)
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return [code for code, lived in zip(codes, alive, strict=True) if lived]

    async def _instance(self) -> Instance:
        for instance in self.instances:
            if await instance.free():
                return instance
        instance = Instance(
            self._launch, timeout=self._timeout, freezing=self._freezing, slots=self._slots
        )
        await instance.start()
        self.instances.append(instance)
        return instance

    async def _proxy(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if len(body) > LARGEST_REQUEST:
            return web.json_response({"message": "Request Too Long"}, status=413)
        instance = await self._instance()
        invocation = await instance.invoke(event_of(request, body))
        self.invocations.append(invocation)
        # In a separate task, because the function continues when the client disconnects.
        return await asyncio.shield(asyncio.create_task(self._relay(request, invocation)))

    async def _relay(self, request: web.Request, invocation: Invocation) -> web.StreamResponse:
        parts = invocation.parts()
        try:
            status, headers, rest = await prelude(parts, invocation)
        except (BadAnswer, FunctionError) as error:
            return web.json_response({"message": f"Internal server error: {error}"}, status=502)
        response = web.StreamResponse(status=status, headers=headers)
        gone = False
        sent, began = 0, time.monotonic()
        try:
            await response.prepare(request)
            async for part in _with_idle(_chain(rest, parts), self._idle_timeout):
                sent += len(part)
                if sent > FREE:
                    # Bytes after the first 10 MB are delayed to the documented rate.
                    early = (sent - FREE) / RATE - (time.monotonic() - began)
                    await asyncio.sleep(max(0, early))
                if not gone and part:
                    try:
                        await response.write(part)
                    except ConnectionError:
                        gone = True
        except (FunctionError, TimeoutError):
            if request.transport:
                request.transport.abort()
            return response
        with contextlib.suppress(ConnectionError):
            await response.write_eof()
        return response


async def prelude(
    parts: AsyncIterator[bytes], invocation: Invocation
) -> tuple[int, list[tuple[str, str]], bytes]:
    """Parse the prelude: status, headers, and the beginning of the body."""
    read = b""
    while END_OF_PRELUDE not in read:
        if len(read) > PRELUDE:
            raise BadAnswer("no end of the prelude in 16 KB")
        try:
            read += await anext(parts)
        except StopAsyncIteration:
            raise BadAnswer("no end of the prelude") from None
    head, _, rest = read.partition(END_OF_PRELUDE)
    if not invocation.streamed or len(head) > PRELUDE:
        raise BadAnswer("not streamed, or the prelude is too long")
    try:
        answer = json.loads(head)
        status = int(answer["statusCode"])
    except (ValueError, KeyError) as error:
        raise BadAnswer("the prelude is not JSON") from error
    headers = []
    for name, value in answer.get("headers", {}).items():
        headers += [(name, one) for one in (value if isinstance(value, list) else [value])]
    headers += [("Set-Cookie", cookie) for cookie in answer.get("cookies", [])]
    return status, [pair for pair in headers if pair[0].lower() != "content-length"], rest


async def _chain(first: bytes, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if first:
        yield first
    async for part in parts:
        yield part


async def _with_idle(parts: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(seconds):
                part = await anext(parts)
        except StopAsyncIteration:
            return
        yield part


def event_of(request: web.Request, body: bytes, *, source_ip: str | None = None) -> dict[str, Any]:
    """The event of a Lambda proxy integration of a REST API."""
    try:
        text, encoded = body.decode(), False
    except UnicodeDecodeError:
        text, encoded = base64.b64encode(body).decode(), True
    peer = source_ip or request.remote
    forwarded = [*request.headers.getall("X-Forwarded-For", []), str(peer)]
    many: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        many.setdefault(name, []).append(value)
    many["X-Forwarded-For"] = [", ".join(forwarded)]
    query = {name: request.query.getall(name) for name in request.query}
    return {
        "resource": "/{proxy+}",
        "path": request.path,
        "httpMethod": request.method,
        "headers": {name: values[-1] for name, values in many.items()},
        "multiValueHeaders": many,
        "queryStringParameters": {n: v[-1] for n, v in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": {"proxy": request.path.lstrip("/")},
        "stageVariables": None,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abc123",
            "domainName": "abc123.execute-api.us-east-1.amazonaws.com",
            "httpMethod": request.method,
            "identity": {"sourceIp": peer, "userAgent": request.headers.get("User-Agent")},
            "path": f"/live{request.path}",
            "protocol": "HTTP/1.1",
            "requestId": "c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
            "requestTimeEpoch": int(time.time() * 1000),
            "resourceId": "123456",
            "resourcePath": "/{proxy+}",
            "stage": "live",
        },
        "body": text or None,
        "isBase64Encoded": encoded,
    }
