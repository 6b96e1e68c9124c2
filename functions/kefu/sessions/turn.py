"""Implements the ports of `kefu.chat.conversation` for a message of a stored chat (P3 to P13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from math import ceil
from typing import NamedTuple

from kefu.chat.completion import Question
from kefu.chat.conversation import KnownAnswer, Report, SessionAccess
from kefu.chat.presets import Config
from kefu.chat.prompt import page_line
from kefu.chat.stop import Stop
from kefu.chat.summaries import SummaryCall
from kefu.errors import ClientGone, MessageChanged, SessionBusy, SessionNotFound
from kefu.messages import Message, Role
from kefu.relay.chunks import Chunk
from kefu.sessions.chat_memory import ChatMemory
from kefu.sessions.history import alternating, from_stable_start, latest_exchanges
from kefu.sessions.hooks.hook import Visit
from kefu.sessions.hooks.steps import BEFORE_MODEL
from kefu.sessions.message_processor import default_prompt
from kefu.sessions.model import BeginResult, NewMessage, Session, StoredMessage, TurnOutcome
from kefu.sessions.recorder import TurnRecorder
from kefu.sessions.service import IncomingMessage, SessionDeps, SessionService, in_time
from kefu.sessions.turn_hooks import begin_after, preprocessed

TITLE_LENGTH = 40
"""Maximum length of a title, which is the start of the first message, in characters."""

BUSY_WAIT = 3
"""Maximum `Retry-After` in seconds for a message that another request is answering."""

STORE_PATIENCE = 4.0
"""Seconds for all store operations before the request to the model. A store may need three seconds
for its first operation, and the widget waits five seconds for the first byte.
"""


class Timing(NamedTuple):
    received_at: float
    """Monotonic time at which the request arrived."""
    store_until: float
    """Time of the event loop: the deadline of store operations before the request to the model."""


class KeptConversation:
    """The stored chat that a message belongs to. Implements `RequestedConversation`."""

    def __init__(
        self, service: SessionService, incoming: IncomingMessage, received_at: float
    ) -> None:
        """`received_at` is the monotonic time of the request."""
        self._service = service
        self._incoming = incoming
        self._received_at = received_at

    async def open(self) -> OpenChat:
        until = asyncio.get_running_loop().time() + STORE_PATIENCE
        service, incoming = self._service, self._incoming
        with service.deps.saving():
            session, is_new = await in_time(service.find(incoming), until)
            access = SessionAccess(session.id, await service.token(session.id, incoming.owner))
        timing = Timing(self._received_at, until)
        return OpenChat(service.deps, incoming, session, access, is_new, timing)


class OpenChat(NamedTuple):
    """A stored chat, or a new one that is not saved yet. Implements `OpenConversation`."""

    deps: SessionDeps
    incoming: IncomingMessage
    chat: Session
    session: SessionAccess
    is_new: bool
    timing: Timing

    async def save_question(self) -> KeptTurn | KnownAnswer:
        deps, incoming = self.deps, self.incoming
        asked_at = self.chat.created_at if self.is_new else deps.persistence.clock.now()
        visit = Visit(self.chat, asked_at, incoming.profile, incoming.owner)
        text, reply = await preprocessed(deps, incoming.text, visit)
        deps.capacity.admit(new=self.is_new)
        chat = self.chat
        if self.is_new:
            chat = chat._replace(title=_title(text), user=incoming.owner)
            visit = visit._replace(session=chat)
        message = NewMessage(text, incoming.client_message_id, incoming.again, incoming.attempt)
        store, until = deps.persistence.store, self.timing.store_until
        try:
            with deps.saving():
                if incoming.again and (known := incoming.client_message_id):
                    # The rating is one of the former answer, and is in the sums of the day.
                    await in_time(store.rate(chat.id, known, None), until)
                result = await in_time(store.begin(chat, message, asked_at), until)
        except KeyError:
            raise SessionNotFound("This chat does not exist, or it has expired.") from None
        if result.message.content != text and deps.hooks.repeats_messages:
            await self._release(result)
            said = "Another message was sent with this client_message_id."
            raise MessageChanged(said, param="client_message_id")
        if result.busy_for > 0:
            wait = max(1, min(ceil(result.busy_for), BUSY_WAIT))
            raise SessionBusy("This message is being answered.", retry_after=wait)
        # Answered before, or stored before for a person.
        if result.answer or (result.message.status == "ok" and not result.replaces):
            text = result.answer.content if result.answer else ""
            return KnownAnswer(text, deps.persistence.clock.now())
        recorder = TurnRecorder(
            deps.persistence,
            result,
            asked_at,
            self.timing.received_at,
            partial(deps.hooks.filters, visit),
            partial(begin_after, deps, visit, result.message),
        )
        if chat.attendance.state == "person":
            reply = ""
        if reply is not None:
            await recorder.end_with(reply)
            return KnownAnswer(reply, deps.persistence.clock.now())
        config = deps.configs.of_session(chat.config_id)
        return KeptTurn(deps, incoming, config, visit, recorder, self.timing)

    async def _release(self, begun: BeginResult) -> None:
        """End a turn that this request has begun, but shall not answer."""
        if begun.answer is None and begun.busy_for <= 0:
            store, message = self.deps.persistence.store, begun.message
            ended, now = TurnOutcome("failed"), self.deps.persistence.clock.now()
            end = store.finish(message.session_id, message.id, ended, now, begun.again)
            await in_time(end, self.timing.store_until)


def _title(text: str) -> str:
    """The first words of a message, on one line."""
    title = " ".join(text.split())
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"


class KeptTurn:
    """A saved question whose answer is being made. Implements `Turn`."""

    reads_bodies = True

    def __init__(
        self,
        deps: SessionDeps,
        incoming: IncomingMessage,
        config: Config,
        visit: Visit,
        recorder: TurnRecorder,
        timing: Timing,
    ) -> None:
        self._deps = deps
        self._incoming = incoming
        self._config = config
        self._visit = visit
        self._recorder = recorder
        self._timing = timing
        self._loaded: Sequence[Message] = ()
        """The messages of the history; while they exist, no other object has the `id` of one."""
        self._ids: Mapping[int, int] = {}
        """The ids of stored messages, by `id` of their objects in `_loaded`."""

    @asynccontextmanager
    async def answering(self, report: Report, stop: Stop) -> AsyncIterator[None]:
        lost = SessionBusy("Another request is answering this message.", retry_after=BUSY_WAIT)
        renewal = asyncio.create_task(self._recorder.hold(lambda: stop(lost)))
        error: BaseException | None = None
        report.text = self._recorder.text
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            error = stop.reason or ClientGone()
            raise
        except Exception as failure:
            error = failure
            raise
        finally:
            renewal.cancel()
            if report.dialogue and report.dialogue.sources:
                self._recorder.meta["knowledge"] = report.dialogue.sources.facts()
            await self._recorder.end(report.dialogue, error)

    async def show(self, chunks: list[Chunk]) -> list[Chunk] | None:
        return await self._recorder.show(chunks)

    async def show_rest(self) -> list[Chunk]:
        return await self._recorder.show_rest()

    def check_whole(self) -> None:
        self._recorder.check_whole()

    def note_summary(self, call: SummaryCall) -> None:
        self._recorder.auxiliary_call(call)

    async def written(self, deadline: float) -> None:
        await self._recorder.written(max(0.0, deadline - asyncio.get_running_loop().time()))

    async def question(self) -> Question:
        """The system prompt, the history and the message, with the session's preset (P7 to P9).

        Raises UpstreamUnavailable when the history cannot be read in time.
        """
        config, incoming, message = self._config, self._incoming, self._recorder.message
        history, context = await self._history(message)
        system = [config.policy.system_prompt or default_prompt(message.content), *context]
        built = self._deps.persistence.processor.build_messages_for_llm(
            message.content,
            [{"role": one.role, "content": one.content} for one in history],
            max_history=len(history),
        )
        roles: Sequence[Role] = (*(one.role for one in history), "user")
        temperature = config.temperature if incoming.temperature is None else incoming.temperature
        return Question(
            [Message(role, one["content"]) for role, one in zip(roles, built, strict=True)],
            temperature,
            min(incoming.max_tokens or config.max_tokens, config.max_tokens),
            model=config.model,
            # The visitor's page cannot send a system message here.
            policy=config.policy._replace(
                system_prompt="\n\n".join(filter(None, system)), client_system="auto"
            ),
            memory=self._memory(history),
            page=page_line(incoming.page),
        )

    def _memory(self, history: Sequence[Message]) -> ChatMemory:
        """The memory for the prompt of history and message."""
        recorder, session = self._recorder, self._visit.session
        ids = [*(self._ids.get(id(message)) for message in history), recorder.message.id]
        return ChatMemory(session.id, session.trim_state, ids, recorder.save_trim_state)

    async def _history(self, message: StoredMessage) -> tuple[Sequence[Message], Sequence[str]]:
        """The history, and the texts that hooks add to the system prompt."""
        recorder = self._recorder
        found = latest_exchanges(
            self._deps.persistence.store, message, self._deps.max_turns, self._visit.now
        )
        step = self._config.policy.trim.budget.trim_step
        with self._deps.saving():
            read = await in_time(found, self._timing.store_until)
        read = from_stable_start(read, self._deps.max_turns, step)
        stored = [message for exchange in read for message in exchange]
        recorder.meta = {
            "request_id": self._incoming.request_id,
            "config_id": self._config.id,
            "api_type": self._config.api_type,
            **({"page": dict(self._incoming.page)} if self._incoming.page else {}),
        }
        told = alternating(stored)
        history: Sequence[Message] = [one for one, _ in told]
        # By object: a hook may leave out some messages, and put others in their place.
        self._loaded = tuple(history)
        self._ids = {id(one): last for one, last in told}
        summarize = partial(self._deps.summarize, on_call=recorder.auxiliary_call)
        visit = self._visit._replace(history=history)
        hooks, until = self._deps.hooks, asyncio.get_running_loop().time() + BEFORE_MODEL
        changed = hooks.history(visit._replace(summarize=summarize), until)
        context: Sequence[str] = ()
        if hooks.has("context"):
            asked = hooks.context(message.content, visit, until)
            history, context = await asyncio.gather(changed, asked)
        else:
            history = await changed
        recorder.meta["history"] = {"read": len(stored), "told": len(history)}
        return history, context
