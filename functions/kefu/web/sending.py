"""Sends the events of an answer over HTTP: as a stream, or collected into one JSON object."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from kefu.chat.state import Answer, AnswerEvent, Done, SourcesFound, SourcesUsed, ToolStep
from kefu.errors import (
    ClientGone,
    GatewayTimeout,
    KefuError,
    SessionBusy,
    TakenOver,
    UpstreamUnavailable,
)
from kefu.relay.chunks import Chunk, chunk_of
from kefu.relay.collected import Collected, replayed
from kefu.relay.sse import DONE, PING, encode
from kefu.web.error_response import error_event, error_response
from kefu.web.json_response import JsonResponse
from kefu.web.request_record import Record, record_of
from kefu.web.running import ChatRuntime, following
from kefu.web.steps import step_events

ID_HEADER, TOKEN_HEADER = "X-Session-Id", "X-Session-Token"
PASS_HEADER = "X-Verification-Pass"  # noqa: S105 - a header's name
UPSTREAM_HEADER = "X-Upstream"

_STREAM_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

Events = AsyncGenerator[AnswerEvent]
Headers = Iterable[tuple[bytes, bytes]]

Respond = Callable[[Request], Awaitable[ASGIApp]]
"""Reads a request, and returns the response with its answer."""


class StreamingRoute:
    """The endpoint of a path whose response is an answer: a plain ASGI application."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(Request(scope, receive))
        await response(scope, receive, send)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class AnswerResponse:
    """The response with an answer.

    The answer stops early in four cases: the client disconnects, another request cancels it, its
    deadline passes, or the server shuts down. The answer of a stored chat goes on when the client
    disconnects: it is saved, and other requests can follow it.
    """

    runtime: ChatRuntime
    answer: Answer
    events: Events
    """The events of this answer, or of an earlier one. They are made when they are read."""
    stream: bool = True
    """True: server-sent events. False: one JSON object."""
    wants_usage: bool = False
    """Whether the stream includes the token usage (`stream_options.include_usage`)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A task of its own, because a resumed task passes through all frames of its stack, and the
        # application's stack has twenty.
        await asyncio.create_task(self._respond(scope, receive, send))

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        record, answer = record_of(scope), self.answer
        record.answer = answer
        client = _Client(send, answer)
        send_events = self._send_stream if self.stream else self._send_json
        try:
            with answer.made_here(), self._watched(receive, client):
                try:
                    await send_events(self.events, record, client)
                except SessionBusy as busy:
                    await send_events(await self._other_answer(busy), record, client)
        except ClientGone as error:
            record.code = "client_gone"
            _drop_frames(error)
        except TakenOver as error:
            _drop_frames(error)
            await self._end_stream(record, client)
        except KefuError as error:
            _drop_frames(error)
            record.failed(error)
            if client.has_head:
                await client.write(error_event(error), more=False)
            else:
                record.answer_headers |= _answer_headers(answer, error)
                await error_response(error)(scope, receive, send)

    async def _other_answer(self, busy: SessionBusy) -> Events:
        """The events of the request that answers this message. Raises `busy` if there is none."""
        answer = self.answer
        if answer.is_saved or answer.reason is not busy:
            raise busy
        answer.is_saved, answer.reason = True, None
        answer.note()
        running = await self.runtime.running.find_beside(answer)
        if not running:
            answer.reason = busy
            raise busy
        return following(self.runtime, self.answer.address, running)

    @contextmanager
    def _watched(self, receive: Receive, client: _Client) -> Iterator[None]:
        """Inside the context, a disconnect, the deadline and `Running` can stop the answer.

        Other requests can follow the answer until the context ends.
        """
        answer, timer = self.answer, None
        leaving = asyncio.create_task(_stop_when_gone(receive, answer))
        if answer.deadline is not None:
            error = GatewayTimeout("The answer took longer than it may.")
            timer = asyncio.get_running_loop().call_at(answer.deadline, answer.stop, error)
        answer.free = client.drop
        self.runtime.running.answers.add(answer)
        try:
            yield
        finally:
            self.runtime.running.answers.discard(answer)
            if not answer.has_ended:
                cut, reason = UpstreamUnavailable("The answer was cut off."), answer.reason
                answer.end(reason if isinstance(reason, KefuError) else cut)
            leaving.cancel()
            if timer:
                timer.cancel()

    @asynccontextmanager
    async def _closing(self, events: Events, record: Record) -> AsyncIterator[None]:
        """A context that closes the events, and logs the request that was sent to the model."""
        async with aclosing(events):
            try:
                yield
            except KefuError as error:
                # An error while sending also stops the answer, so it is recorded as the reason.
                self.answer.reason = self.answer.reason or error
                raise
            finally:
                self.runtime.log.messages(record)

    async def _send_stream(self, events: Events, record: Record, client: _Client) -> None:
        """Send the events as server-sent events.

        The headers are sent with the first event: an earlier error still gets its own status. The
        response ends only after `events` ends, because Lambda may then freeze the process.
        """
        answer, sources = self.answer, b""
        async with self._closing(events, record):
            async for event in events:
                are_chunks = isinstance(event, list)  # as nearly always, and quickly asked
                if not are_chunks and isinstance(event, SourcesFound | SourcesUsed):
                    note_event(answer, event)
                    # Sent with the next chunk: an error before that gets its own status.
                    sources += _encoded_sources(event, answer.source_format)
                    continue
                if not client.has_head:
                    record.answer_headers |= _answer_headers(answer)
                    await client.begin(_STREAM_HEADERS)
                body = PING
                if isinstance(event, list):
                    answer.note()
                    body = _encoded(event, self.wants_usage)
                elif isinstance(event, Done):
                    answer.end()
                    body = DONE
                elif isinstance(event, ToolStep):
                    # One page carries it out: not those that follow the answer, too.
                    note_event(answer, replace(event, for_page=False))
                    answer.note()
                    if answer.wants_steps:
                        body = step_events(event)
                if event:
                    body, sources = sources + body, b""
                if body:
                    await client.write(body)
        await client.write(b"", more=False)

    async def _end_stream(self, record: Record, client: _Client) -> None:
        """End the stream as that of a complete answer, which may have no text."""
        answer, gateway = self.answer, self.runtime.gateway
        model = self.runtime.services.chat.sampling.model
        end = replayed("", f"chatcmpl-{answer.request_id}", model, int(gateway.now()))
        if client.has_head:
            end = end[-1:]  # the stream has its role
        else:
            record.answer_headers |= _answer_headers(answer)
            await client.begin(_STREAM_HEADERS)
        await client.write(_encoded(end, wants_usage=False) + DONE, more=False)

    async def _send_json(self, events: Events, record: Record, client: _Client) -> None:
        """Send the answer as one JSON object when it is complete."""
        answer, collected, usage = self.answer, Collected(), None
        try:
            async with self._closing(events, record):
                async for event in events:
                    if isinstance(event, Done):
                        answer.end()
                        usage = event.usage
                    elif isinstance(event, list):
                        for chunk in event:
                            collected.add(chunk)
        except KefuError as error:
            if answer.dialogue and answer.dialogue.call.gate_open:
                # The model's tokens are already spent, so clients must not retry automatically.
                error.should_retry = False
            raise
        assert answer.dialogue, "a stored answer is never collected"
        completion = answer.dialogue.call.completion
        # OpenAI's non-streaming responses always include `usage`.
        completion.usage = usage
        record.answer_headers |= _answer_headers(answer)
        response = JsonResponse(collected.response(completion))
        await client.begin(response.raw_headers)
        await client.write(bytes(response.body), more=False)


class _Client:
    """The connection on which one answer is sent."""

    def __init__(self, send: Send, answer: Answer) -> None:
        self.has_head = False
        self._send = send
        self._answer = answer
        self._task = asyncio.current_task()
        self._is_writing = False
        self._dropped = asyncio.Event()
        """Set: nothing more is sent."""

    async def begin(self, headers: Headers) -> None:
        """Send the status 200 and the headers."""
        await self._send({"type": "http.response.start", "status": 200, "headers": list(headers)})
        self.has_head = True

    async def write(self, body: bytes, *, more: bool = True) -> None:
        if self._dropped.is_set():
            return
        self._is_writing = True
        try:
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
        except OSError:
            # Some servers raise OSError when the client has disconnected.
            if not self._answer.goes_on:
                raise
        except asyncio.CancelledError:
            if not self._task or not self._dropped.is_set() or self._answer.reason:
                raise
            self._task.uncancel()
        finally:
            self._is_writing = False

    def drop(self) -> None:
        """Stop sending to a client that reads nothing, because others wait for the answer.

        The silent connection may be a broken connection of the same page.
        """
        if self._is_writing and self._task and not self._answer.reason:
            self._dropped.set()
            self._task.cancel()


async def _stop_when_gone(receive: Receive, answer: Answer) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if not answer.goes_on:
        answer.stop(ClientGone())


def note_event(answer: Answer, event: SourcesFound | SourcesUsed | ToolStep) -> None:
    """Keep an event for the requests that follow the answer."""
    answer.events.append((len(answer.output.text) if answer.output else 0, event))


def _encoded(chunks: list[Chunk], wants_usage: bool) -> bytes:
    """Encode the chunks of one upstream read, for a single write; a ping if there is none.

    `wants_usage`: whether chunks that only report usage are included.
    """
    if not chunks:
        return PING
    shown = [f"data: {one.text}\n\n" for one in chunks if wants_usage or one.has_choices]
    return "".join(shown).encode()


def _encoded_sources(
    event: SourcesFound | SourcesUsed, wanted: bool | Literal["text", "passages"]
) -> bytes:
    """The event, without choices like a usage event, for clients that asked for sources.

    Clients that get the sources as text learn only that a question was not answered.
    """
    if wanted == "text" and isinstance(event, SourcesUsed) and not event.answered:
        return _sources_event({"answered": False})
    if wanted not in {True, "passages"}:
        return b""
    if isinstance(event, SourcesFound):
        found = [one._asdict() for one in event.sources]
        if wanted is True:
            for one in found:
                del one["text"]
        body: dict[str, object] = {"sources": found, "links": list(event.links)}
    else:
        body = {"used": list(event.numbers), "answered": event.answered}
        if event.follow_ups:
            body["follow_ups"] = list(event.follow_ups)
    return _sources_event(body)


def _sources_event(sources: dict[str, object]) -> bytes:
    return encode(chunk_of({"object": "kefu.sources", "choices": [], **sources}).text)


def _answer_headers(answer: Answer, error: KefuError | None = None) -> dict[str, str]:
    """Return the headers with the session, a new verification pass and the upstream.

    The session is included once the message is saved, and for a SessionBusy error. The upstream
    is included if there are two, and if it has begun its answer.
    """
    headers = dict[str, str]()
    if answer.verification_pass:
        headers[PASS_HEADER] = answer.verification_pass
    if answer.session and (answer.is_saved or isinstance(error, SessionBusy)):
        headers[ID_HEADER], headers[TOKEN_HEADER] = answer.session
    if answer.dialogue and (answered_by := answer.dialogue.call.answered_by):
        headers[UPSTREAM_HEADER] = answered_by
    return headers


def _drop_frames(error: BaseException | None) -> None:
    """Remove the tracebacks of a handled error, whose frames refer to the answer.

    The answer refers to its error, so only the garbage collector would free it.
    """
    while error:
        error.__traceback__, error = None, error.__cause__ or error.__context__
