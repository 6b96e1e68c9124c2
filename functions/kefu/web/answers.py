"""The responses with an answer: a new one, and one that is made for another request."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from kefu.chat.answer import AnswerEvent, Incoming, answer, known_events
from kefu.chat.conversation import RequestedConversation
from kefu.errors import SessionBusy
from kefu.web.caller import Caller
from kefu.web.request_record import Record
from kefu.web.runtime import ChatRuntime
from kefu.web.streaming import StreamedAnswer

if TYPE_CHECKING:
    from kefu.sessions.model import Session
    from kefu.sessions.service import SessionService
    from kefu.web.schemas import ResumeRequest


class ChatResponse(StreamedAnswer):
    """The answer to a question."""

    def __init__(
        self, runtime: ChatRuntime, caller: Caller, conversation: RequestedConversation
    ) -> None:
        super().__init__(runtime, caller)
        self._conversation = conversation

    def _events(self, record: Record, deadline: float | None) -> AsyncGenerator[AnswerEvent]:
        incoming = Incoming(
            request_id=record.request_id,
            received_at=record.started,
            address=self._caller.ip,
            client=self._caller.client,
            conversation=self._conversation,
            deadline=deadline,
            proof=self._caller.proof,
            lists_sources=self._caller.sources == "text",
            stop=self.stop,
            report=self.report,
        )
        return answer(incoming, self._runtime.services)

    def _instead(self, busy: SessionBusy) -> AsyncGenerator[AnswerEvent]:
        session, message = self.session_id, self.client_message_id
        running = session and message and self._runtime.running.find(session, message)
        if not running or self.report.is_saved or self.stop.reason is not busy:
            raise busy
        self.report.is_saved, self.stop.reason = True, None
        return self._following(running)


class ResumedAnswer(StreamedAnswer):
    """The answer to an earlier message of a stored chat. It never asks a model.

    An answer that this process is making is followed; else the stored answer is sent.
    """

    def __init__(
        self,
        runtime: ChatRuntime,
        caller: Caller,
        sessions: SessionService,
        session: Session,
        body: ResumeRequest,
    ) -> None:
        super().__init__(runtime, caller)
        self._sessions = sessions
        self._session = session
        self._body = body

    async def _events(self, record: Record, deadline: float | None) -> AsyncGenerator[AnswerEvent]:
        session, message = self._session, self._body.client_message_id
        if running := self._runtime.running.find(session.id, message):
            async with aclosing(self._following(running)) as events:
                async for event in events:
                    yield event
            return
        known = await self._sessions.answer_to(session, self._body.again or message)
        lists = self._caller.sources == "text"
        for event in known_events(known, self._runtime.services, record.request_id, lists):
            yield event
