"""One message of a kept chat and its answer, in the order that P3 to P13 set down.

`begin`, then `question`; then the model's answer passes through its `outcome`, which is told how it
ended. Nothing here asks the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import TypeVar

from kefu.chat import Question
from kefu.configs import Config, Configs
from kefu.errors import (
    InvalidRequest,
    SessionBusy,
    SessionNotFound,
    StoreUnavailable,
    UpstreamUnavailable,
)
from kefu.hooks.hook import Filter, Hook, Reply, Visit
from kefu.lean_typing import NamedTuple
from kefu.message_processor import DEFAULT_SYSTEM_PROMPT
from kefu.messages import Message, Role
from kefu.outcome import Outcome, Writing
from kefu.sessions import Asked, Session, StoredMessage
from kefu.turn_history import Pair, pairs

T = TypeVar("T")

TITLE_LENGTH = 40
"""Characters of the first message."""

BUSY_WAIT = 3
"""Seconds after which it is worth asking again for a message that is being answered."""

STORE_PATIENCE = 4.0
"""Seconds for all that the store is asked before the model: one whose library is loading has three
for its first answer, and a page waits five for a first byte.
"""

PAGES = 3
"""Reads of the store for one history: turns that went wrong take up places in each."""


class Asking(NamedTuple):
    """What a visitor sends."""

    text: str
    address: str
    request_id: str
    session_id: str | None = None
    token: str = ""
    owner: str = ""
    """The user, where the site says who it is."""
    config_id: str | None = None
    client_message_id: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    profile: Mapping[str, str] = MappingProxyType({})


class Ways(NamedTuple):
    """How turns are done here."""

    writing: Writing
    configs: Configs
    hooks: Sequence[Hook]
    on_fault: Callable[[str], None]
    """Told when a hook fails."""
    max_turns: int = 10
    """Of history, at most."""


async def in_time(work: Awaitable[T], until: float | None = None) -> T:
    """What must be had of the store before a model is asked; else nothing is paid for.

    Raises UpstreamUnavailable, and at `until`, a time of the event loop, whatever is under way.
    """
    try:
        async with asyncio.timeout_at(until):
            return await work
    except (StoreUnavailable, TimeoutError) as error:
        message = "The chat cannot be kept right now. Please try again."
        raise UpstreamUnavailable(message, retry_after=5) from error


class Turn:
    def __init__(
        self, ways: Ways, asking: Asking, session: Session, config: Config, *, is_new: bool
    ) -> None:
        self.session = session
        self.reply: str | None = None
        """An answer that is known without a model: the stored one, or a hook's."""
        self._ways = ways
        self._asking = asking
        self._config = config
        self._is_new = is_new
        self._came = session.created_at if is_new else ways.writing.clock.now()
        self._visit = Visit(session, self._came, asking.profile)
        self._outcome: Outcome | None = None

    @property
    def outcome(self) -> Outcome:
        assert self._outcome, "the turn has not begun, or had ended before"
        return self._outcome

    async def begin(self) -> None:
        """Preprocess, and save the message (P5, P6).

        Raises InvalidRequest for an empty one, SessionBusy while the same one is being answered,
        UpstreamUnavailable when it cannot be saved.
        """
        text, reply = self._text()
        if self._is_new:
            title = " ".join(text.split())[:TITLE_LENGTH]
            self.session = self.session._replace(title=title)
            self._visit = self._visit._replace(session=self.session)
        asked = Asked(text, self._asking.client_message_id)
        writing = self._ways.writing
        try:
            begun = await in_time(writing.store.begin(self.session, asked, self._came))
        except KeyError:
            raise SessionNotFound("This chat is not known here, or not any more.") from None
        if begun.busy_for > 0:
            wait = max(1, min(ceil(begun.busy_for), BUSY_WAIT))
            raise SessionBusy("This message is being answered.", retry_after=wait)
        self.reply = begun.answer.content if begun.answer else reply
        if not begun.answer:
            self._outcome = Outcome(writing, begun, self._came, self._filters)

    async def replied(self) -> None:
        """Write down a hook's answer; a stored one is there already."""
        if self._outcome and self.reply is not None:
            await self._outcome.end_with(self.reply)

    def _filters(self) -> list[Filter]:
        made = (hook.answer(self._visit) for hook in self._ways.hooks)
        return [one for one in made if one is not None]

    def _text(self) -> tuple[str, str | None]:
        """What is saved, and a hook's answer to it if there is one."""
        process = self._ways.writing.processor.preprocess_user_message
        text, reply = process(self._asking.text), None
        for hook in self._ways.hooks if text else ():
            changed = hook.user_message(text, self._visit)
            if isinstance(changed, Reply):
                reply = str(changed)
                break
            text = process(changed)
        # What the model is asked is what is kept: no secret goes further than this.
        text = self._ways.writing.recording.redact(text)
        if not text:
            raise InvalidRequest("message: there is nothing in it.", param="message")
        return text, reply

    async def question(self, until: float | None = None) -> Question:
        """What the model is asked: history, prompt, and the session's config (P7 to P9).

        Raises UpstreamUnavailable when the history cannot be had, or not `until` then.
        """
        config, asking = self._config, self._asking
        message = self.outcome.message
        history = await self._history(message, until)
        system = [config.policy.system_prompt or DEFAULT_SYSTEM_PROMPT]
        system += [hook.system(self._visit) for hook in self._ways.hooks]
        built = self._ways.writing.processor.build_messages_for_llm(
            message.content,
            [{"role": one.role, "content": one.content} for one in history],
            "\n\n".join(filter(None, system)),
            max_history=len(history),
        )
        roles: Sequence[Role] = ("system", *(one.role for one in history), "user")
        temperature = config.temperature if asking.temperature is None else asking.temperature
        return Question(
            [Message(role, one["content"]) for role, one in zip(roles, built, strict=True)],
            temperature,
            min(asking.max_tokens or config.max_tokens, config.max_tokens),
            model=config.model,
            # The system message stands in the messages already, and it is ours.
            policy=config.policy._replace(system_prompt="", client_system="auto"),
        )

    async def _history(self, message: StoredMessage, until: float | None) -> Sequence[Message]:
        read = await in_time(self._pairs(message), until)
        self.outcome.known = (*(m for pair in read for m in pair), message)
        self.outcome.beside = {
            "request_id": self._asking.request_id,
            "config_id": self._config.id,
            "api_type": self._config.api_type,
        }
        history: Sequence[Message] = [Message(m.role, m.content) for pair in read for m in pair]
        for hook in self._ways.hooks:
            try:
                history = await hook.history(history, self._visit)
            except Exception as error:  # noqa: BLE001 - a site's own code; the chat goes on
                self._ways.on_fault(f"{type(hook).__name__}: {type(error).__name__}")
        self.outcome.beside["history"] = {"read": 2 * len(read), "told": len(history)}
        return history

    async def _pairs(self, message: StoredMessage) -> list[Pair]:
        """The newest turns that went well, by pages until there are enough."""
        most, found, before = self._ways.max_turns, list[StoredMessage](), message.id
        whole: list[Pair] = []
        for _ in range(PAGES if most else 0):
            page = await self._ways.writing.store.messages(
                message.session_id, before=before, limit=2 * most, now=self._came
            )
            found[:0] = page
            whole = pairs(found, message.id)
            if len(whole) >= most or len(page) < 2 * most:
                break
            before = page[0].id
        return whole[-most:]
