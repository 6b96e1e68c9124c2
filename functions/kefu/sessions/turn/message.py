"""A message of a stored chat, from its request to its saved answer (P3 to P13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from kefu.chat.completion import Question
from kefu.chat.conversation import KnownAnswer
from kefu.chat.output_filter import TextFilter
from kefu.chat.presets import Config
from kefu.chat.prompt import page_line
from kefu.chat.state import Answer, SessionAccess
from kefu.chat.summaries import SummaryCall
from kefu.errors import (
    ApprovalGone,
    ClientGone,
    InvalidRequest,
    KefuError,
    MessageChanged,
    SessionBusy,
    SessionNotFound,
)
from kefu.messages import APPROVAL, Image, Message, Role
from kefu.sessions.hooks.hook import HookContext
from kefu.sessions.hooks.steps import BEFORE_MODEL, Preprocessed
from kefu.sessions.store.model import BeginResult, NewMessage, Session, StoredMessage, TurnOutcome
from kefu.sessions.turn.history import ChatMemory, alternating, from_stable_start, latest_exchanges
from kefu.sessions.turn.message_processor import default_prompt
from kefu.sessions.turn.recorder import TurnRecorder
from kefu.sessions.turn.saving import before_model
from kefu.sessions.turn.service import IncomingMessage, SessionService, known_answer

if TYPE_CHECKING:
    from kefu.chat.admission import Admission
    from kefu.sessions.turn.tools import Click
    from kefu.tools.tool import Tool, Visitor
    from kefu.tools.use import Use
    from kefu.tools.workbench import Workbench

TITLE_LENGTH = 40
"""Maximum length of a title, which is the start of the first message, in characters."""

BUSY_WAIT = 3
"""Maximum `Retry-After` in seconds for a message that another request is answering."""

STORE_PATIENCE = 4.0
"""Seconds for all store operations before the request to the model. A store may need three seconds
for its first operation, and the widget waits five seconds for the first byte.
"""


HEADERS_WAIT = 1.0
"""Seconds from the request in which nothing is sent until the model has sent text, so that an error
can still become an HTTP status.
"""


class KeptConversation:
    """One message of a stored chat. Implements `kefu.chat.conversation.RequestedConversation`."""

    is_stored = True
    reads_bodies = True

    _session: Session
    _visit: HookContext
    _config: Config
    _recorder: TurnRecorder

    def __init__(
        self, service: SessionService, incoming: IncomingMessage, received_at: float
    ) -> None:
        """`received_at` is the monotonic time of the request."""
        self._service = service
        self._deps = service.deps
        self._incoming = incoming
        self._received_at = received_at
        self._store_until = 0.0
        """Time of the event loop: the deadline of store operations before the model is asked."""
        self.is_new = False
        self._loaded: Sequence[Message] = ()
        """The messages of the history; while they exist, their values of `id()` are unique."""
        self._ids: Mapping[int, int] = {}
        """The ids of stored messages, by `id` of their objects in `_loaded`."""
        self._with_calls: Mapping[int, StoredMessage] = {}
        """The answers with calls of tools, by `id` of their objects in `_loaded`."""
        self._called: Sequence[StoredMessage] = ()
        """The same, and those that are joined with a line of a person."""
        self._pictured: Mapping[int, StoredMessage] = {}
        """The visitor's messages with images, by `id` of their objects in `_loaded`."""
        self._clicks: Collection[str] = ()
        """The `client_message_id`s of the history, if it has calls."""
        self._tools: Mapping[str, Tool] = {}
        """The tools of the answer."""
        self._approved: Use | None = None
        """The call that the visitor has approved by this message."""

    @property
    def waits_for_text(self) -> bool:
        return self._deps.clock.monotonic() < self._received_at + HEADERS_WAIT

    async def open(self) -> SessionAccess:
        service, incoming = self._service, self._incoming
        self._store_until = asyncio.get_running_loop().time() + STORE_PATIENCE
        with self._deps.saving():
            self._session, self.is_new = await before_model(
                service.find(incoming), self._store_until
            )
            token = await service.token(self._session.id, incoming.owner)
        return SessionAccess(self._session.id, token)

    async def save_question(self) -> KnownAnswer | None:
        deps, incoming, clock = self._deps, self._incoming, self._deps.clock
        asked_at = self._session.created_at if self.is_new else clock.now()
        self._visit = HookContext(
            self._session, asked_at, incoming.profile, incoming.owner, claims=incoming.claims
        )
        if incoming.click:
            return await self._clicked(incoming.click)
        if (incoming.client_message_id or "").startswith(APPROVAL):
            said = "An approval is given by `approval`, and its answer is not replaced."
            raise InvalidRequest(said, param="client_message_id")
        text, reply = await self._preprocessed()
        deps.capacity.admit(new=self.is_new)
        if incoming.images:
            from kefu.sessions.turn.images import check_room  # here, because few have images

            check_room(deps)
        if self.is_new:
            chat = self._session._replace(title=_title(text), user=incoming.owner)
            self._visit = self._visit._replace(session=chat)
        begun = await self._begun(text)
        # The message was sent before, and has its answer, or waits for that of a person.
        if begun.answer or (begun.message.status == "ok" and not begun.replaces):
            return known_answer(begun.answer) if begun.answer else KnownAnswer("", clock.now())
        if incoming.images and not incoming.replaces:
            await self._save_images(begun, incoming.images)
        recorder = self._recorder = TurnRecorder(deps, begun, self._visit, self._received_at)
        if incoming.replaces:
            recorder.edit(text, incoming.images)
        if self._session.attendance.state == "person":
            reply = ""
        if reply is not None:
            await recorder.end_with(reply)
            return KnownAnswer(reply, clock.now())
        self._config = deps.configs.of_session(self._session.config_id)
        return None

    async def _clicked(self, click: Click) -> KnownAnswer | None:
        """Save a click on a card as a message, and find the call that it approves.

        Returns the answer of a click that was answered before, and of a No. The first click
        decides. Raises ApprovalGone, InvalidRequest.
        """
        from kefu.sessions.turn.tools import asked_call
        from kefu.tools.card import YES, declined, outcome_sentence
        from kefu.tools.use import asking_turn, stored_uses
        from kefu.tools.workbench import NOT_KNOWN

        deps, session = self._deps, self._session
        if self.is_new or deps.toolbox is None:
            raise ApprovalGone("This question is not open any more. Please ask again.")
        find = partial(asked_call, deps.store, session, click)
        use = await before_model(find(deps.clock.now()), self._store_until)
        is_of_page = use.name in deps.toolbox.of_pages
        if click.result and not is_of_page:  # a second try could carry out the call again
            raise InvalidRequest("Only a tool of the page has a result.", param="approval.result")
        begun = await self._begun(click.text(use.card))
        if begun.answer:
            return known_answer(begun.answer)
        if begun.message.id != asking_turn(click.id) + 2:
            try:
                await before_model(find(deps.clock.now()), self._store_until)
            except ApprovalGone:
                await self._release(begun)
                raise
        self._recorder = TurnRecorder(deps, begun, self._visit, self._received_at)
        own = use._replace(id="s0c0", step=0, at=0)
        if not begun.message.content.startswith(YES):
            return await self._without_model(declined(use.card), own._replace(state="denied"))
        if is_of_page and not click.result:
            # Nobody knows how the page ends the call, until its result comes.
            unsure = own._replace(state="unsure", result=NOT_KNOWN)
            told = await self._without_model(outcome_sentence(use.card, "unsure"), unsure)
            return told._replace(page_call=own._replace(state="running"))
        tried = [] if click.result else stored_uses(begun.message.steps)
        self._approved = tried[0] if tried else own
        self._config = deps.configs.of_session(session.config_id)
        return None

    async def _without_model(self, reply: str, use: Use) -> KnownAnswer:
        """Save the reply to a click, with the call as it is now."""
        recorder = self._recorder
        steps = recorder.steps([use])
        await recorder.end_with(reply, steps)
        return KnownAnswer(reply, self._deps.clock.now(), steps, recorder.message.id)

    async def _preprocessed(self) -> Preprocessed:
        """The text to save (P5), and the reply of a hook. Raises InvalidRequest for no text."""
        deps = self._deps
        process = deps.processor.preprocess_user_message
        done = Preprocessed(process(self._incoming.text), None)
        if done.text:
            done = await deps.hooks.user_message(done.text, self._visit, process)
        # The model gets the saved text, so secrets are replaced in both.
        done = done._replace(text=deps.recording.redact(done.text))
        if not done.text:
            raise InvalidRequest("message: must not be empty.", param="message")
        return done

    async def _begun(self, text: str) -> BeginResult:
        """Save the message, or find the saved message and its answer (P6).

        Raises SessionBusy, MessageChanged, SessionNotFound, ChatUnsaved.
        """
        deps, incoming, chat = self._deps, self._incoming, self._visit.session
        store, until = deps.store, self._store_until
        message = NewMessage(text, incoming.client_message_id, incoming.replaces, incoming.attempt)
        if incoming.images:
            from kefu.images import stored

            message = message._replace(images=stored(incoming.images))
        try:
            with deps.saving():
                if incoming.replaces and (known := incoming.client_message_id):
                    # The rating belongs to the earlier answer, and is in the sums of the day.
                    await before_model(store.rate(chat.id, known, None), until)
                begun = await before_model(store.begin(chat, message, self._visit.now), until)
        except KeyError:
            raise SessionNotFound("This chat does not exist, or it has expired.") from None
        may_edit = incoming.replaces and self._session.attendance.state != "person"
        is_same = begun.message.content == text or may_edit or incoming.click
        if not is_same and deps.hooks.repeats_messages:
            await self._release(begun)
            said = "Another message was sent with this client_message_id."
            raise MessageChanged(said, param="client_message_id")
        if begun.busy_for > 0:
            wait = max(1, min(ceil(begun.busy_for), BUSY_WAIT))
            raise SessionBusy("This message is being answered.", retry_after=wait)
        return begun

    async def _save_images(self, begun: BeginResult, images: Sequence[Image]) -> None:
        """Save the images of the message. Raises MessageChanged, UpstreamUnavailable."""
        from kefu.sessions.turn.images import save

        try:
            await save(self._deps, begun, images, self._store_until)
        except KefuError:
            await self._release(begun)
            raise

    async def _release(self, begun: BeginResult) -> None:
        """End a turn that this request has begun, but shall not answer."""
        if begun.answer is None and begun.busy_for <= 0:
            store, message = self._deps.store, begun.message
            ended, now = TurnOutcome("failed"), self._deps.clock.now()
            end = store.finish(message.session_id, message.id, ended, now, begun.retries)
            await before_model(end, self._store_until)

    @asynccontextmanager
    async def answering(self, answer: Answer) -> AsyncIterator[None]:
        def lost() -> None:
            busy = "Another request is answering this message."
            answer.stop(SessionBusy(busy, retry_after=BUSY_WAIT))

        error: BaseException | None = None
        answer.goes_on = True
        answer.note()
        try:
            with self._recorder.holding(lost):
                yield
        except (asyncio.CancelledError, GeneratorExit):
            error = answer.reason or ClientGone()
            raise
        except Exception as failure:
            error = failure
            raise
        finally:
            if answer.dialogue and answer.dialogue.sources:
                self._recorder.meta["knowledge"] = answer.dialogue.sources.facts()
            await self._recorder.end(answer, error)

    def filters(self, field: str) -> Sequence[TextFilter]:
        return self._deps.hooks.filters(self._visit, field)

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
        self._tools = await self._offered()
        system = [config.policy.system_prompt or default_prompt(message.content), *context]
        built = self._deps.processor.build_messages_for_llm(
            message.content,
            [{"role": one.role, "content": one.content} for one in history],
            max_history=len(history),
        )
        roles: Sequence[Role] = (*(one.role for one in history), "user")
        messages = [Message(role, one["content"]) for role, one in zip(roles, built, strict=True)]
        image_tokens = 0
        if self._pictured or message.images or incoming.images:
            messages, image_tokens = await self._with_images(messages, history)
        if self._with_calls and self._tools:
            messages, history = self._told(messages, history)
        return Question(
            messages,
            config.sampling.asked(incoming.temperature, incoming.max_tokens),
            # The visitor's page cannot send a system message here.
            policy=config.policy._replace(
                system_prompt="\n\n".join(filter(None, system)), client_system="auto"
            ),
            memory=self._memory(history),
            page=page_line(incoming.page),
            image_tokens=image_tokens,
        )

    async def _with_images(
        self, messages: Sequence[Message], history: Sequence[Message]
    ) -> tuple[list[Message], int]:
        """The messages with the images that the model sees, and the tokens of these."""
        from kefu.chat.images import tokens_in
        from kefu.sessions.turn.images import with_images

        model, asked = self._config.sampling.model, (self._recorder.message, self._incoming.images)
        earlier = {
            at: self._pictured[id(one)]
            for at, one in enumerate(history)
            if id(one) in self._pictured
        }
        found = await with_images(self._deps, messages, earlier, asked, model, self._store_until)
        return found, tokens_in(found, model)

    def _told(
        self, messages: Sequence[Message], history: Sequence[Message]
    ) -> tuple[list[Message], Sequence[Message]]:
        """The messages with the calls of earlier answers, and for each the one of the history."""
        from kefu.sessions.turn.tools import with_calls

        calls = {
            id(new): self._with_calls[id(old)]
            for new, old in zip(messages[:-1], history, strict=True)
            if id(old) in self._with_calls
        }
        origins = {id(new): old for new, old in zip(messages[:-1], history, strict=True)}
        told = with_calls(messages[:-1], calls, self._clicks)
        return [*(one for one, _ in told), messages[-1]], [origins[id(one)] for _, one in told]

    async def _offered(self) -> Mapping[str, Tool]:
        toolbox = self._deps.toolbox
        if toolbox is None:
            return {}
        click, asker = self._incoming.click, self._asker()
        tools = await toolbox.offered(self._config.tools, asker, self._incoming.page_tools)
        if click and click.result and self._approved:
            from kefu.tools.page import with_result

            name = self._approved.name  # of a page: `_clicked` refuses other results
            tools[name] = with_result(tools.get(name, toolbox.of_pages[name]), click.result)
        return tools

    def _asker(self) -> Visitor:
        from kefu.tools.tool import Visitor

        incoming = self._incoming
        return Visitor(self._session.id, incoming.owner, incoming.claims, incoming.language)

    async def bench(self, answer: Answer, admission: Admission) -> Workbench | None:
        if not (self._tools or self._approved):
            return None
        from kefu.chat.steps import surroundings
        from kefu.sessions.turn.tools import calls_in
        from kefu.tools.workbench import Workbench

        deps, recorder, chat = self._deps, self._recorder, self._session.id
        around = surroundings(answer, admission, deps.clock, chat, deps.recording.redact)
        bench = Workbench(
            self._tools,
            self._asker(),
            around._replace(
                save=lambda: recorder.save_calls(bench.uses),
                admit_card=partial(admission.admit_card, chat),
            ),
            question_id=recorder.message.id,
            earlier=calls_in(self._called),
        )
        bench.approved = self._approved
        return bench

    def _memory(self, history: Sequence[Message]) -> ChatMemory:
        """The memory for the prompt of history and message."""
        recorder, session = self._recorder, self._visit.session
        ids = [*(self._ids.get(id(message)) for message in history), recorder.message.id]
        return ChatMemory(session.id, session.trim_state, ids, recorder.save_trim_state)

    async def _history(self, message: StoredMessage) -> tuple[Sequence[Message], Sequence[str]]:
        """The history, and the texts that hooks add to the system prompt."""
        recorder = self._recorder
        found = latest_exchanges(self._deps.store, message, self._deps.max_turns, self._visit.now)
        step = self._config.policy.trim.budget.trim_step
        with self._deps.saving():
            read = await before_model(found, self._store_until)
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
        # Messages are found by object: a hook may drop some, and add others.
        self._loaded = tuple(history)
        self._ids = {id(one): last.id for one, last in told}
        self._with_calls = {id(one): last for one, last in told if last.steps and last.reply_to}
        self._called = [one for one in stored if one.steps and one.reply_to]
        if self._deps.images:
            self._pictured = {id(one): last for one, last in told if last.images}
        self._clicks = {one.client_message_id or "" for one in stored} if self._with_calls else ()
        summarize = partial(self._deps.summaries.write, on_call=recorder.auxiliary_call)
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


def _title(text: str) -> str:
    """The first words of a message, on one line."""
    title = " ".join(text.split())
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"
