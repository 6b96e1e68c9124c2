"""Sends the events of an answer over HTTP: as a stream, or collected into one JSON object."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kefu.chat.answer import (
    AnswerEvent,
    Done,
    Incoming,
    SourcesFound,
    SourcesUsed,
    answer,
)
from kefu.chat.conversation import Report, RequestedConversation
from kefu.chat.stop import Stop
from kefu.errors import ClientGone, GatewayTimeout, KefuError, SessionBusy
from kefu.relay.chunks import Chunk, Completion, chunk_of
from kefu.relay.collected import Collected
from kefu.relay.sse import DONE, PING
from kefu.web.caller import Caller
from kefu.web.error_response import error_event, error_response
from kefu.web.json_response import JsonResponse
from kefu.web.request_record import record_of
from kefu.web.runtime import ChatRuntime

ID_HEADER, TOKEN_HEADER = "X-Session-Id", "X-Session-Token"
PASS_HEADER = "X-Verification-Pass"  # noqa: S105 - a header's name
UPSTREAM_HEADER = "X-Upstream"

_STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}

Events = AsyncIterator[AnswerEvent]


class ChatResponse(Response):
    """Generates and sends one answer.

    The answer stops early in four cases: the client disconnects, another request cancels it, its
    deadline passes, or the server shuts down.
    """

    def __init__(
        self, runtime: ChatRuntime, caller: Caller, conversation: RequestedConversation
    ) -> None:
        self.background = None
        self.client_message_id = caller.client_message_id
        self.report = Report()
        self.stop = Stop()
        self._runtime = runtime
        self._caller = caller
        self._conversation = conversation
        self._has_head = False

    @property
    def session_id(self) -> str | None:
        return self.report.session.id if self.report.session else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Each wait of a task passes through all of its frames, and the application has twenty.
        await asyncio.create_task(self._answer(scope, receive, send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        record.report = self.report
        incoming = self._incoming(record.request_id, record.started)
        try:
            with self.stop.applied(), self._watched(incoming, receive):
                async with aclosing(answer(incoming, self._runtime.services)) as events:
                    await self._send(events, scope, receive, send)
        except ClientGone:
            record.code = "client_gone"
        except KefuError as error:
            record.failed(error)
            if self._has_head:
                await send({"type": "http.response.body", "body": error_event(error)})
            else:
                record.answer_headers |= self._answer_headers(error)
                await error_response(error)(scope, receive, send)

    def _incoming(self, request_id: str, received_at: float) -> Incoming:
        seconds = self._caller.seconds
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        return Incoming(
            request_id=request_id,
            received_at=received_at,
            address=self._caller.ip,
            client=self._caller.client,
            conversation=self._conversation,
            deadline=deadline,
            proof=self._caller.proof,
            lists_sources=self._caller.sources == "text",
            stop=self.stop,
            report=self.report,
        )

    @contextmanager
    def _watched(self, incoming: Incoming, receive: Receive) -> Iterator[None]:
        """Inside the context, a disconnect, the deadline and `Running` can stop the answer."""
        leaving = asyncio.create_task(self._stop_when_gone(receive))
        timer = None
        if incoming.deadline is not None:
            error = GatewayTimeout("The answer took longer than it may.")
            timer = asyncio.get_running_loop().call_at(incoming.deadline, self.stop, error)
        self._runtime.running.add(self)
        try:
            yield
        finally:
            self._runtime.running.discard(self)
            leaving.cancel()
            if timer:
                timer.cancel()

    async def _stop_when_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
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
                # Sent with the chunk that follows: an error before it gets its own status.
                sources += self._sources(event)
                continue
            if not self._has_head:
                headers |= self._answer_headers()
                await self._send_head(send)
            if isinstance(event, Done):
                self.stop.finished()
                body = DONE
            else:
                body = self._encoded(event) if event else PING
            if event:
                body, sources = sources + body, b""
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _send_head(self, send: Send) -> None:
        headers = [(n.lower().encode(), v.encode()) for n, v in _STREAM_HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self._has_head = True

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

    def _sources(self, event: SourcesFound | SourcesUsed) -> bytes:
        """The event for clients that asked for sources. It has no choices, as one with usage.

        Clients that get the sources as text learn only that a question was not answered.
        """
        if self._caller.sources == "text" and isinstance(event, SourcesUsed) and not event.answered:
            return _event({"answered": False})
        if self._caller.sources not in {True, "passages"}:
            return b""
        if isinstance(event, SourcesFound):
            found = [one._asdict() for one in event.sources]
            if self._caller.sources is True:
                for one in found:
                    del one["text"]
            body: dict[str, object] = {"sources": found}
        else:
            body = {"used": list(event.numbers), "answered": event.answered}
        return _event(body)

    def _encoded(self, chunks: list[Chunk]) -> bytes:
        """Encode the chunks of one upstream read as server-sent events, for a single write."""
        if not self._caller.wants_usage:
            chunks = [chunk for chunk in chunks if chunk.has_choices]
        return "".join([f"data: {chunk.text}\n\n" for chunk in chunks]).encode()

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


def _event(sources: dict[str, object]) -> bytes:
    text = chunk_of({"object": "kefu.sources", "choices": [], **sources}).text
    return f"data: {text}\n\n".encode()
