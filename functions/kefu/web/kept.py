"""An answer in a chat that is kept: the same exchange, written down around."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from kefu.chat import Dialogue
from kefu.errors import SessionBusy
from kefu.sessions import Session
from kefu.summaries import listening
from kefu.turn import BUSY_WAIT, STORE_PATIENCE, Asking, Turn, in_time
from kefu.turns import Turns
from kefu.visible import replayed
from kefu.web.caller import Caller, caller_of
from kefu.web.desk import Desk
from kefu.web.exchange import Batches, Exchange
from kefu.web.gateway import Gateway
from kefu.web.identity import Identities
from kefu.web.record import Record, record_of
from kefu.web.schemas import MessageRequest

ID_HEADER, TOKEN_HEADER = "X-Session-Id", "X-Session-Token"


class Kept(Exchange):
    def __init__(self, desk: Desk, caller: Caller, turns: Turns, asking: Asking) -> None:
        super().__init__(desk, caller)
        self._turns = turns
        self._asking = asking
        self._turn: Turn | None = None

    async def _converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        # Before the store is asked: to guess is to be counted.
        await self._desk.admission.admit(self._caller.ip)
        until = asyncio.get_running_loop().time() + STORE_PATIENCE
        turn = self._turn = await in_time(self._opened(record), until)
        try:
            if turn.reply is None:
                async with self._held(turn):
                    question = await turn.question(until)
                    await self._answer(question, scope, receive, send)
            else:
                await turn.replied()
                await self._send_stream(self._reply(turn.reply, record), send)
                await self._end(send)
        except BaseException as error:
            if turn.reply is None:
                await turn.outcome.end(record.dialogue, self._stopped_by or error)
            raise

    @asynccontextmanager
    async def _held(self, turn: Turn) -> AsyncIterator[None]:
        lost = SessionBusy("This message is not answered here any more.", retry_after=BUSY_WAIT)
        holding = asyncio.create_task(turn.outcome.hold(lambda: self.stop(lost)))
        before = listening.set(turn.outcome.aside)
        try:
            yield
        finally:
            listening.reset(before)
            holding.cancel()

    async def _opened(self, record: Record) -> Turn:
        turn = await self._turns.open(self._asking)
        if self._asking.session_id is not None:
            await self._desk.admission.admit_to(turn.session.id, writing=True)
        await self._begin(turn, record)
        return turn

    async def _begin(self, turn: Turn, record: Record) -> None:
        """From the moment on that the message is saved every answer says where: a page that has
        seen none of them finds the chat again by the next.
        """
        self.session_id = turn.session.id
        token = await self._turns.token(turn.session.id, self._asking.owner)
        headers = {ID_HEADER: turn.session.id, TOKEN_HEADER: token}
        try:
            await turn.begin()
        except SessionBusy:
            record.answer_headers |= headers
            raise
        record.answer_headers |= headers

    async def _end(self, send: Send) -> None:
        if self._until is not None and self._turn and self._turn.reply is None:
            left = self._until - asyncio.get_running_loop().time()
            await self._turn.outcome.written(max(0.0, left))
        await super()._end(send)

    def _passing(self, dialogue: Dialogue, batches: Batches) -> Batches:
        assert self._turn
        return self._turn.outcome.watch(dialogue, batches)

    async def _reply(self, text: str, record: Record) -> Batches:
        now = self._turns.ways.writing.clock.now()
        yield replayed(text, f"chatcmpl-{record.request_id}", self._desk.chat.model, int(now))


class KeptChats:
    """What requests say, in the terms of kept chats."""

    def __init__(self, desk: Desk, turns: Turns, gateway: Gateway, identities: Identities) -> None:
        self.turns = turns
        self._desk = desk
        self._gateway = gateway
        self._identities = identities

    async def answer(self, request: Request, body: MessageRequest) -> Kept:
        caller = caller_of(request, body, self._gateway)
        return Kept(self._desk, caller, self.turns, await self._asking(request, body, caller))

    async def session(self, request: Request, name: str) -> Session:
        """The visitor's own of this name, to be read or rated. Raises SessionNotFound."""
        owner = (await self._identities.visitor(request)).name
        session = await self.turns.owned(name, _token(request), owner)
        await self._desk.admission.admit_to(session.id, writing=False)
        return session

    async def _asking(self, request: Request, body: MessageRequest, caller: Caller) -> Asking:
        visitor = await self._identities.visitor(request)
        return Asking(
            text=body.message,
            address=caller.ip,
            request_id=record_of(request.scope).request_id,
            session_id=body.session_id,
            token=_token(request),
            owner=visitor.name,
            config_id=body.config_id,
            client_message_id=caller.client_message_id,
            temperature=body.temperature,
            max_tokens=body.asked_tokens,
            # What the site has signed counts for more than what its page says.
            profile={**(body.profile or {}), **visitor.profile},
        )


def _token(request: Request) -> str:
    return request.headers.get(TOKEN_HEADER, "")
