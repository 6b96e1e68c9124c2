"""A chat over HTTP while it runs: admission, the stream, and whoever may end it early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kefu.admission import Reservation
from kefu.chat import Dialogue, Question
from kefu.completion import Chunk, Collected, Usage
from kefu.errors import ClientGone, GatewayTimeout, KefuError
from kefu.sse import DONE, PING
from kefu.verification import BotCheck
from kefu.web.caller import Caller
from kefu.web.desk import Desk
from kefu.web.error_response import error_event, error_response
from kefu.web.json_response import Json
from kefu.web.record import Record, record_of

_STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


Batches = AsyncIterator[list[Chunk]]


class Exchange(Response):
    """An answer on its way: streamed, or collected when `stream` is off.

    Watches for the client's leaving from the first moment on. The upstream's connection is closed
    in every case.
    """

    def __init__(self, desk: Desk, caller: Caller) -> None:
        self.background = None
        self.client_message_id = caller.client_message_id
        self.session_id: str | None = None
        self._desk = desk
        self._caller = caller
        self._task: asyncio.Task[object] | None = None
        self._stopped_by: Exception | None = None
        self._until: float | None = None
        """Of the loop's time: when the answer must have ended."""
        self._pieces = 0
        self._begun = False
        self._whole = False
        """Nothing is left to send: what is reported now, a disconnect say, changes nothing."""

    def stop(self, reason: Exception) -> None:
        if self._task and not self._stopped_by and not self._whole:
            self._stopped_by = reason
            self._task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        try:
            with self._desk.admission.slot(self._caller.ip):
                async with self._stoppable(receive):
                    await self._run(scope, receive, send)
        except ClientGone:
            record.code = "client_gone"
        except KefuError as error:
            record.code = error.code
            if self._begun:
                await send({"type": "http.response.body", "body": error_event(error)})
            else:
                await error_response(error)(scope, receive, send)

    @asynccontextmanager
    async def _stoppable(self, receive: Receive) -> AsyncIterator[None]:
        """`stop` cancels what runs inside, and its reason is raised in place of the cancelling."""
        self._task = asyncio.current_task()
        watch = asyncio.create_task(_until_gone(receive, lambda: self.stop(ClientGone())))
        limit = self._limit()
        self._desk.running.add(self)
        try:
            yield
        except asyncio.CancelledError:
            if not self._stopped_by or not self._task:
                raise
            self._task.uncancel()
            raise self._stopped_by from None
        finally:
            self._task = None
            self._desk.running.discard(self)
            watch.cancel()
            if limit:
                limit.cancel()

    def _limit(self) -> asyncio.TimerHandle | None:
        if self._caller.seconds is None:
            return None
        error = GatewayTimeout("The answer took longer than it may.")
        limit = asyncio.get_running_loop().call_later(self._caller.seconds, self.stop, error)
        self._until = limit.when()
        return limit

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        desk, record = self._desk, record_of(scope)
        # The keys' view comes while the rate is checked: one wait for the store, not two.
        desk.prefetch()
        if desk.bot_check:
            await self._check_visitor(desk.bot_check, record)
        await self._converse(scope, receive, send)

    async def _converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What the visitor may now do."""
        raise NotImplementedError

    async def _answer(self, question: Question, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask the model and send what it says, within the day's budget."""
        desk, record = self._desk, record_of(scope)
        dialogue = desk.chat.prepare(question, record.started, record.request_id)
        record.dialogue = dialogue
        whole: Response | None = None
        reservation = await desk.admission.reserve(dialogue.tokens_at_most)
        try:
            answer = await desk.chat.start(dialogue)
            try:
                batches = self._passing(dialogue, answer.batches())
                if self._caller.stream:
                    await self._send_stream(batches, send)
                else:
                    whole = await self._collected(batches, dialogue)
            finally:
                answer.close()
        finally:
            desk.log.messages(record)
            record.tokens = self._spent(dialogue)
            await self._settle(reservation, record.tokens)
        # A function is frozen as soon as its answer has ended: nothing may be left to do then.
        if whole:
            await whole(scope, receive, send)
        else:
            await self._end(send)

    async def _end(self, send: Send) -> None:
        """The end of a stream, of which the visitor has everything already."""
        await send({"type": "http.response.body", "body": b""})

    def _passing(self, dialogue: Dialogue, batches: Batches) -> Batches:
        """Where somebody may look on while an answer passes."""
        return batches

    async def _check_visitor(self, check: BotCheck, record: Record) -> None:
        def note(outcome: str) -> None:
            record.facts["bot_check"] = outcome

        if issued := await check.admit(self._caller.proof, self._caller.ip, note):
            record.answer_headers["X-Verification-Pass"] = issued

    async def _settle(self, reservation: Reservation | None, tokens: int) -> None:
        if reservation:
            # Shielded: a client that leaves must not keep what it did not use.
            await asyncio.shield(self._desk.admission.settle(reservation, tokens))

    def _spent(self, dialogue: Dialogue) -> int:
        if usage := dialogue.call.completion.usage:
            return usage.prompt + usage.completion
        if dialogue.call.first_event_at is None:
            return 0
        estimate = self._estimate(dialogue)
        return estimate.prompt + estimate.completion

    def _estimate(self, dialogue: Dialogue) -> Usage:
        """Where the upstream did not count: the prompt as estimated, and a token a chunk."""
        return Usage(dialogue.tokens_at_most - dialogue.question.max_tokens, self._pieces)

    async def _send_stream(self, batches: Batches, send: Send) -> None:
        """All but its end. The headers go out with the first batch: until then an error has its
        own status.
        """
        async for batch in batches:
            if not self._begun:
                await self._send_head(send)
            body = self._encode(batch) if batch else PING
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
        self._whole = True
        await send({"type": "http.response.body", "body": DONE, "more_body": True})

    async def _send_head(self, send: Send) -> None:
        headers = [(n.lower().encode(), v.encode()) for n, v in _STREAM_HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self._begun = True

    def _encode(self, batch: list[Chunk]) -> bytes:
        """The events of one read of the upstream, in one write."""
        self._pieces += len(batch)
        if not self._caller.wants_usage:
            batch = [chunk for chunk in batch if chunk.has_choices]
        return "".join([f"data: {chunk.text}\n\n" for chunk in batch]).encode()

    async def _collected(self, batches: Batches, dialogue: Dialogue) -> Response:
        collected = Collected()
        try:
            async for batch in batches:
                for chunk in batch:
                    self._pieces += 1
                    collected.add(chunk)
        except KefuError as error:
            # After the first event nothing is asked twice, by no client either: it was paid for.
            error.should_retry = False
            raise
        completion = dialogue.call.completion
        # OpenAI's own answers always have it, so clients (the `llm` command) do not ask.
        completion.usage = completion.usage or self._estimate(dialogue)
        self._whole = True
        return Json(collected.response(completion))


class Direct(Exchange):
    """The answer to one question that holds its whole conversation; nothing of it is kept."""

    def __init__(self, desk: Desk, caller: Caller, question: Question) -> None:
        super().__init__(desk, caller)
        self._question = question

    async def _converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._desk.admission.admit(self._caller.ip)
        await self._answer(self._question, scope, receive, send)


async def _until_gone(receive: Receive, then: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    then()
