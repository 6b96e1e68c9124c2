"""Sends the events of an answer over HTTP: as a stream, or collected into one JSON object."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kefu.chat.answer import (
    AnswerEvent,
    Done,
    SourcesFound,
    SourcesUsed,
)
from kefu.chat.conversation import Report
from kefu.chat.stop import Stop
from kefu.errors import (
    ClientGone,
    GatewayTimeout,
    KefuError,
    SessionBusy,
    UpstreamUnavailable,
)
from kefu.relay.chunks import Completion
from kefu.relay.collected import Collected
from kefu.relay.sse import DONE, PING
from kefu.web.caller import Caller
from kefu.web.encoding import encoded, encoded_sources
from kefu.web.error_response import error_event, error_response
from kefu.web.following import Progress, follow
from kefu.web.json_response import JsonResponse
from kefu.web.request_record import Record, record_of
from kefu.web.runtime import ChatRuntime, Stoppable

ID_HEADER, TOKEN_HEADER = "X-Session-Id", "X-Session-Token"
PASS_HEADER = "X-Verification-Pass"  # noqa: S105 - a header's name
UPSTREAM_HEADER = "X-Upstream"

_STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}

Events = AsyncIterator[AnswerEvent]


class StreamedAnswer(Response):
    """Sends the events of one answer.

    The answer stops early in four cases: the client disconnects, another request cancels it, its
    deadline passes, or the server shuts down. That of a stored chat goes on when the client
    disconnects: it is saved, and other requests can follow it.
    """

    def __init__(self, runtime: ChatRuntime, caller: Caller) -> None:
        self.background = None
        self.client_message_id = caller.client_message_id
        self.report = Report()
        self.stop = Stop()
        self.progress = Progress(self._drop_reader)
        self._runtime = runtime
        self._caller = caller
        self._has_head = False
        self._is_writing = False
        self._dropped = asyncio.Event()
        """Set: nothing more is sent to the client."""
        self._task: asyncio.Task[None] | None = None

    @property
    def session_id(self) -> str | None:
        return self.report.session.id if self.report.session else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Each wait of a task passes through all of its frames, and the application has twenty.
        self._task = asyncio.create_task(self._answer(scope, receive, send))
        await self._task

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        record.report = self.report
        seconds = self._caller.seconds
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        try:
            with self.stop.applied(), self._watched(deadline, receive):
                try:
                    async with aclosing(self._events(record, deadline)) as events:
                        await self._send(events, scope, receive, send)
                except SessionBusy as busy:
                    async with aclosing(self._instead(busy)) as events:
                        await self._send(events, scope, receive, send)
        except ClientGone as error:
            record.code = "client_gone"
            _drop_frames(error)
        except KefuError as error:
            _drop_frames(error)
            record.failed(error)
            if self._has_head:
                await self._write(send, error_event(error), more=False)
            else:
                record.answer_headers |= self._answer_headers(error)
                await error_response(error)(scope, receive, send)

    def _events(self, record: Record, deadline: float | None) -> AsyncGenerator[AnswerEvent]:
        """The events of the answer. `deadline`: when it must end, a time of the event loop."""
        raise NotImplementedError

    def _instead(self, busy: SessionBusy) -> AsyncGenerator[AnswerEvent]:
        """The events of another request that answers this message. Without one, raises `busy`."""
        raise busy

    async def _following(self, running: Stoppable) -> AsyncGenerator[AnswerEvent]:
        with self._runtime.admission.slot(self._caller.ip):
            async with aclosing(follow(running.progress, running.report)) as events:
                async for event in events:
                    yield event

    @contextmanager
    def _watched(self, deadline: float | None, receive: Receive) -> Iterator[None]:
        """Inside the context, a disconnect, the deadline and `Running` can stop the answer.

        Other requests can follow it until the context ends.
        """
        leaving = asyncio.create_task(self._stop_when_gone(receive))
        timer = None
        if deadline is not None:
            error = GatewayTimeout("The answer took longer than it may.")
            timer = asyncio.get_running_loop().call_at(deadline, self.stop, error)
        self._runtime.running.add(self)
        try:
            yield
        finally:
            self._runtime.running.discard(self)
            reason = self.stop.reason
            cut = UpstreamUnavailable("The answer was cut off.")
            self.progress.end(reason if isinstance(reason, KefuError) else cut)
            leaving.cancel()
            if timer:
                timer.cancel()

    async def _stop_when_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not self.report.text:
            self.stop(ClientGone())

    async def _send(self, events: Events, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        try:
            if self._caller.stream:
                await self._send_stream(events, send, record.answer_headers)
            else:
                response = await self._collected(events)
                record.answer_headers |= self._answer_headers()
                await response(scope, receive, send)
        except KefuError as error:
            # An error while sending also stops the answer, so it is recorded as the reason.
            self.stop.reason = self.stop.reason or error
            raise
        finally:
            self._runtime.log.messages(record)

    async def _send_stream(self, events: Events, send: Send, headers: dict[str, str]) -> None:
        """Send the events as server-sent events.

        The headers are sent with the first event: an earlier error still gets its own status. The
        response ends only after `events` ends, because Lambda may then freeze the process.
        """
        sources = b""
        async for event in events:
            if isinstance(event, SourcesFound | SourcesUsed):
                self.progress.sources.append(event)
                # Sent with the chunk that follows: an error before it gets its own status.
                sources += encoded_sources(event, self._caller.sources)
                continue
            if not self._has_head:
                headers |= self._answer_headers()
                await self._send_head(send)
            if isinstance(event, Done):
                self.stop.finished()
                self.progress.end()
                body = DONE
            else:
                self.progress.note()
                body = encoded(event, self._caller.wants_usage) if event else PING
            if event:
                body, sources = sources + body, b""
            if body:
                await self._write(send, body)
        await self._write(send, b"", more=False)

    async def _send_head(self, send: Send) -> None:
        headers = [(n.lower().encode(), v.encode()) for n, v in _STREAM_HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self._has_head = True

    async def _write(self, send: Send, body: bytes, *, more: bool = True) -> None:
        if self._dropped.is_set():
            return
        self._is_writing = True
        try:
            await send({"type": "http.response.body", "body": body, "more_body": more})
        except OSError:
            # Some servers raise it when the client has disconnected.
            if not self.report.text:
                raise
        except asyncio.CancelledError:
            if not (self._dropped.is_set() and self._task) or self.stop.reason:
                raise
            self._task.uncancel()
        finally:
            self._is_writing = False

    def _drop_reader(self) -> None:
        """Stop sending to a client that reads nothing, because others wait for the answer.

        Its connection may be one that broke without a sign, of the same page.
        """
        if self._is_writing and self._task and not self.stop.reason:
            self._dropped.set()
            self._task.cancel()

    def _answer_headers(self, error: KefuError | None = None) -> dict[str, str]:
        """Return the headers with the session, a new verification pass and the upstream.

        The session is included once the message is saved, and for a SessionBusy error. The upstream
        is included if there are two, and if it has begun its answer.
        """
        report, headers = self.report, dict[str, str]()
        if report.verification_pass:
            headers[PASS_HEADER] = report.verification_pass
        if report.session and (report.is_saved or isinstance(error, SessionBusy)):
            headers[ID_HEADER], headers[TOKEN_HEADER] = report.session
        if report.dialogue and (answered_by := report.dialogue.call.answered_by):
            headers[UPSTREAM_HEADER] = answered_by
        return headers

    async def _collected(self, events: Events) -> Response:
        collected = Collected()
        completion: Completion | None = None
        try:
            async for event in events:
                if isinstance(event, Done):
                    self.stop.finished()
                    if self.report.dialogue:
                        completion = self.report.dialogue.call.completion
                        # OpenAI's non-streaming responses always include `usage`.
                        completion.usage = event.usage
                elif isinstance(event, list):
                    for chunk in event:
                        collected.add(chunk)
        except KefuError as error:
            dialogue = self.report.dialogue
            if dialogue and dialogue.call.gate_open:
                # The model's tokens are already spent, so clients must not retry automatically.
                error.should_retry = False
            raise
        assert completion, "a stored answer is never collected"
        return JsonResponse(collected.response(completion))


def _drop_frames(error: BaseException | None) -> None:
    """Remove the tracebacks of a handled error, whose frames refer to the answer.

    The answer refers to its error, so only the garbage collector would free it.
    """
    while error:
        error.__traceback__, error = None, error.__cause__ or error.__context__
