"""Finds the stored chat of a request, checks access to it, and serves its history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kefu.chat.conversation import KnownAnswer
from kefu.chat.presets import Configs
from kefu.chat.summaries import Summaries
from kefu.errors import (
    InvalidRequest,
    SessionBusy,
    SessionNotFound,
    StoreFailed,
    StoreUnavailable,
    UpstreamUnavailable,
)
from kefu.relay.call import Clock
from kefu.sessions.hooks.steps import Hooks
from kefu.sessions.store.capacity import UNLIMITED, Capacity
from kefu.sessions.store.model import Rating, Session, SessionId, StoredMessage
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.sessions.turn.call_log import Recording
from kefu.sessions.turn.history import rated_turn
from kefu.sessions.turn.message_processor import MessageProcessor
from kefu.sessions.turn.saving import BackgroundWriter, ChatUnsaved, before_model
from kefu.sessions.turn.tokens import ID_BYTES, SECRET_BYTES, SessionTokens, session_id

if TYPE_CHECKING:
    from kefu.messages import Image
    from kefu.sessions.turn.tools import Click
    from kefu.tools.tool import Tool
    from kefu.tools.toolbox import Toolbox

NEW_TITLE = "新对话"

MAX_SEARCHED_MESSAGES = 40
"""Messages that are searched for one whose answer is awaited."""

ASK_AGAIN = 3
"""`Retry-After` in seconds for an answer that another process is making."""

RETRIES_FOR = 600.0
"""Seconds in which a retry of a chat's first message continues the same chat."""


class IncomingMessage(NamedTuple):
    """The fields of a visitor's request for an answer."""

    text: str
    address: str
    request_id: str
    session_id: str | None = None
    token: str = ""
    owner: str = ""
    """The user of the site, from a checked user token; empty for an anonymous visitor."""
    config_id: str | None = None
    site: str | None = None
    """The site of the visitor's page; None if it is not known: see `Configs.chosen`."""
    client_message_id: str | None = None
    replaces: bool = False
    """Whether the message with this id gets a new answer."""
    attempt: str = ""
    """The id of a request with `replaces`, by which a retry is recognized."""
    temperature: float | None = None
    max_tokens: int | None = None
    profile: Mapping[str, str] = MappingProxyType({})
    claims: Mapping[str, str] = MappingProxyType({})
    """The signed part of `profile`."""
    language: str = ""
    click: Click | None = None
    """A click on a card, in place of a text."""
    page_tools: Sequence[Tool] = ()
    """The tools that the visitor's page can carry out."""
    page: Mapping[str, str] = MappingProxyType({})
    """Facts about the page that the visitor sees."""
    images: Sequence[Image] | None = None
    """The images of the message, without metadata. With `replaces`, None: it keeps its images."""


class SessionDeps(NamedTuple):
    """The parts that a turn needs."""

    store: Sessions
    writer: BackgroundWriter
    clock: Clock
    recording: Recording
    processor: MessageProcessor
    configs: Configs
    hooks: Hooks
    summaries: Summaries
    max_turns: int = 10
    """Maximum number of turns in the history."""
    toolbox: Toolbox | None = None
    capacity: Capacity = UNLIMITED
    """Space left in the store."""
    images: bool = False
    """Whether the model sees images of visitors."""
    answers_unsaved: bool = False
    """Whether a message that cannot be saved may be asked again as `messages`."""

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Store operations before the request to the model.

        A failing store then raises ChatUnsaved, or StoreFailed with `answers_unsaved`.
        """
        try:
            yield
        except ChatUnsaved as error:
            if not self.answers_unsaved:
                raise
            raise StoreFailed(str(error), retry_after=error.retry_after) from error


def known_answer(answer: StoredMessage) -> KnownAnswer:
    return KnownAnswer(answer.content, answer.created_at, answer.steps, answer.reply_to or 0)


def _not_found() -> SessionNotFound:
    return SessionNotFound("This chat does not exist, or it has expired.")


class SessionService:
    """The operations on stored chats that routes call. All raise UpstreamUnavailable when the
    store fails.
    """

    def __init__(
        self, deps: SessionDeps, tokens: SessionTokens, entropy: Callable[[int], bytes]
    ) -> None:
        """`tokens` without secrets get that of the store, at their first use.

        `entropy` returns the given number of random bytes.
        """
        self.deps = deps
        self._own_tokens = tokens
        self._entropy = entropy

    async def owned_id(self, session: str, token: str, owner: str = "") -> SessionId:
        """The id of a session that the token owns. The session may not exist any more.

        Raises SessionNotFound for a bad token.
        """
        id, now = SessionId(session), self.deps.clock.now()
        if not (await self._tokens()).owns(token, id, now, owner):
            raise _not_found()
        return id

    async def owned(self, session: str, token: str, owner: str = "") -> Session:
        """The session with this id and token. Raises SessionNotFound if it or the token is bad."""
        found = await self.found(await self.owned_id(session, token, owner))
        if found is None:
            raise _not_found()
        return found

    async def found(self, id: SessionId) -> Session | None:
        """The session; None if it does not exist any more."""
        return await before_model(self.deps.store.session(id))

    async def find(self, incoming: IncomingMessage) -> tuple[Session, bool]:
        """The session of a message, and whether it is new and not saved yet (P3, P4).

        Raises SessionNotFound, InvalidRequest, UpstreamUnavailable.
        """
        if incoming.session_id is None:
            return await self._session_of_first(incoming)
        session = await self.owned(incoming.session_id, incoming.token, incoming.owner)
        self.check_site(session, incoming.site)
        return session, False

    def check_site(self, session: Session, site: str | None) -> None:
        """Raises SessionNotFound for a chat of another site."""
        if not self.deps.configs.serves(session.config_id, site):
            raise _not_found()

    async def token(self, session: SessionId, owner: str = "") -> str:
        """A new token for the session."""
        return (await self._tokens()).issue(session, self.deps.clock.now(), owner)

    async def rate(
        self, session: Session, client_message_id: str, rating: Rating | None, comment: str = ""
    ) -> None:
        """Save a rating and its comment, whose line ends become spaces.

        Raises SessionNotFound when the session has no such answer.
        """
        deps = self.deps
        text = deps.processor.preprocess_user_message(" ".join(comment.split()))
        comment = deps.recording.redact(text)
        rated = self.deps.store.rate(session.id, client_message_id, rating, comment)
        if not await before_model(rated):
            raise SessionNotFound("There is no such answer in this chat.")
        load = partial(rated_turn, deps.store, session, client_message_id, deps.clock.now())
        await deps.hooks.tell("rated", load)

    async def page(
        self, session: Session, before: int | None, limit: int
    ) -> Sequence[StoredMessage]:
        """The newest `limit` messages with ids below `before`, by ascending id."""
        now = self.deps.clock.now()
        read = self.deps.store.messages(session.id, before=before, limit=limit, now=now)
        return await before_model(read)

    async def listed(
        self, owner: str, config_id: str, cursor: str | None, limit: int
    ) -> tuple[Sequence[tuple[Session, str]], str | None]:
        """A page of a user's sessions, by the last message, newest first: each with a new token.

        Also returns the cursor of the next page. Raises ValueError for an invalid cursor.
        """
        now, wanted = self.deps.clock.now(), SessionFilter(user=owner, config_id=config_id)
        page = await before_model(self.deps.store.newest(wanted, cursor, limit, now))
        tokens = await self._tokens()
        sessions = [row.session for row in page.rows]
        return [(one, tokens.issue(one.id, now, owner)) for one in sessions], page.cursor

    async def answer_to(self, session: Session, client_message_id: str) -> KnownAnswer:
        """The stored answer to a recent message, for a page that waits for it.

        Raises SessionBusy while the message is being answered, UpstreamUnavailable if it has no
        complete answer, and InvalidRequest if there is no such message.
        """
        newest = await self.page(session, None, MAX_SEARCHED_MESSAGES)
        asked = next((m for m in newest if m.client_message_id == client_message_id), None)
        if asked is None:
            raise InvalidRequest("There is no such message.", param="client_message_id")
        if asked.status == "pending":
            raise SessionBusy("This message is being answered.", retry_after=ASK_AGAIN)
        if asked.status != "ok":
            raise UpstreamUnavailable("This message has no complete answer.", should_retry=False)
        answers = (known_answer(m) for m in newest if m.reply_to == asked.id)
        # None: the message went to a person.
        return next(answers, KnownAnswer("", asked.created_at))

    async def forget(self, id: SessionId) -> None:
        """Delete the session with all its data. Does nothing for a deleted session.

        If the store fails, the deletion is retried in the background, and UpstreamUnavailable is
        raised because it has not happened yet.
        """
        try:
            await self.deps.store.delete(id)
        except StoreUnavailable as error:
            self.deps.writer.begin("a deletion", lambda: self.deps.store.delete(id))
            message = "The chat cannot be deleted right now. Please try again."
            raise UpstreamUnavailable(message, retry_after=5) from error

    async def aclose(self) -> None:
        """Wait for a short time for unfinished writes, then cancel them."""
        await self.deps.capacity.aclose()
        await self.deps.hooks.aclose()
        await self.deps.writer.aclose()

    async def _tokens(self) -> SessionTokens:
        tokens = self._own_tokens
        if not tokens.has_secrets:
            candidate = self._entropy(SECRET_BYTES).hex()
            tokens.set_secrets([await before_model(self.deps.store.secret(candidate))])
        return tokens

    async def _session_of_first(self, incoming: IncomingMessage) -> tuple[Session, bool]:
        """A new session; for a retry of a chat's first message, the session of that chat."""
        config = self.deps.configs.chosen(incoming.config_id, incoming.site)
        now = self.deps.clock.now()
        id = session_id(self._entropy(ID_BYTES))
        if incoming.client_message_id is not None:
            tokens = await self._tokens()
            derived = tokens.session_for(
                incoming.client_message_id, incoming.address, incoming.owner
            )
            existing = await before_model(self.deps.store.session(derived))
            is_same_site = existing and self.deps.configs.serves(existing.config_id, config.site)
            if existing and is_same_site and now - existing.created_at <= RETRIES_FOR:
                return existing, False
            # An older session with this id is not continued: the message gets a random id.
            id = id if existing else derived
        return Session(id, NEW_TITLE, config.id, now, now), True
