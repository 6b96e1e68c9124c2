"""Finds the stored chat of a request, checks access to it, and serves its history."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from kefu.chat.conversation import KnownAnswer
from kefu.chat.presets import Configs
from kefu.chat.summaries import OnCall
from kefu.errors import (
    InvalidRequest,
    SessionBusy,
    SessionNotFound,
    StoreFailed,
    StoreUnavailable,
    UpstreamUnavailable,
)
from kefu.messages import Message
from kefu.sessions.hooks.steps import Hooks
from kefu.sessions.store.capacity import UNLIMITED, Capacity
from kefu.sessions.store.model import Rating, Session, SessionId, StoredMessage
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions, SessionStore
from kefu.sessions.turn.history import rated_turn
from kefu.sessions.turn.recorder import PersistenceDeps
from kefu.sessions.turn.tokens import ID_BYTES, SessionTokens, session_id

T = TypeVar("T")

NEW_TITLE = "新对话"

NEWEST = 40
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
    client_message_id: str | None = None
    replaces: bool = False
    """Whether the message with this id gets a new answer."""
    attempt: str = ""
    """The id of a request with `replaces`, by which a retry is recognized."""
    temperature: float | None = None
    max_tokens: int | None = None
    profile: Mapping[str, str] = MappingProxyType({})
    page: Mapping[str, str] = MappingProxyType({})
    """Facts about the page that the visitor sees."""


class SummarizeForTurn(Protocol):
    async def __call__(
        self, messages: Sequence[Message], previous: str, on_call: OnCall | None = None
    ) -> str:
        """Like `kefu.context.Summarize`; `on_call` receives the call to the model."""
        ...


class SessionDeps(NamedTuple):
    """The parts that a turn needs."""

    persistence: PersistenceDeps
    configs: Configs
    hooks: Hooks
    summarize: SummarizeForTurn
    max_turns: int = 10
    """Maximum number of turns in the history."""
    capacity: Capacity = UNLIMITED
    """Space left in the store."""
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


class ChatUnsaved(UpstreamUnavailable):
    """The store failed before the request to the model."""


async def before_model(work: Awaitable[T], until: float | None = None) -> T:
    """The result of a store operation that must succeed before the request to the model.

    Raises ChatUnsaved when the store fails, or at `until`, a time of the event loop.
    """
    try:
        async with asyncio.timeout_at(until):
            return await work
    except (StoreUnavailable, TimeoutError) as error:
        message = "The chat cannot be saved right now. Please try again."
        raise ChatUnsaved(message, retry_after=5) from error


class Signer:
    """Provides the session tokens, with the configured secrets or with the store's secret."""

    def __init__(
        self, store: SessionStore, secrets: Sequence[str], candidate: str, life: float
    ) -> None:
        """A store without a secret gets `candidate`. `life` of tokens is in seconds."""
        self._store = store
        self._candidate = candidate
        self._life = life
        self._tokens = SessionTokens(secrets, life) if secrets else None

    async def tokens(self) -> SessionTokens:
        """Raises StoreUnavailable when the store's secret is needed and cannot be read."""
        if self._tokens is None:
            self._tokens = SessionTokens([await self._store.secret(self._candidate)], self._life)
        return self._tokens


def _not_found() -> SessionNotFound:
    return SessionNotFound("This chat does not exist, or it has expired.")


class SessionService:
    """The operations on stored chats that routes call. All raise UpstreamUnavailable when the
    store fails.
    """

    def __init__(self, deps: SessionDeps, signer: Signer, entropy: Callable[[int], bytes]) -> None:
        """`entropy` returns the given number of random bytes."""
        self.deps = deps
        self._signer = signer
        self._entropy = entropy

    @property
    def store(self) -> Sessions:
        return self.deps.persistence.store

    async def owned_id(self, session: str, token: str, owner: str = "") -> SessionId:
        """The id of a session that the token owns. The session may not exist any more.

        Raises SessionNotFound for a bad token.
        """
        id, now = SessionId(session), self.deps.persistence.clock.now()
        if not (await self._tokens()).owns(token, id, now, owner):
            raise _not_found()
        return id

    async def owned(self, session: str, token: str, owner: str = "") -> Session:
        """The session with this id and token. Raises SessionNotFound for a bad id or token."""
        found = await before_model(self.store.session(await self.owned_id(session, token, owner)))
        if found is None:
            raise _not_found()
        return found

    async def find(self, incoming: IncomingMessage) -> tuple[Session, bool]:
        """The session of a message, and whether it is new and not saved yet (P3, P4).

        Raises SessionNotFound, InvalidRequest, UpstreamUnavailable.
        """
        if incoming.session_id is None:
            return await self._session_of_first(incoming)
        return await self.owned(incoming.session_id, incoming.token, incoming.owner), False

    async def token(self, session: SessionId, owner: str = "") -> str:
        """A new token for the session."""
        return (await self._tokens()).issue(session, self.deps.persistence.clock.now(), owner)

    async def rate(
        self, session: Session, client_message_id: str, rating: Rating | None, comment: str = ""
    ) -> None:
        """Save a rating and its comment, whose line ends become spaces.

        Raises SessionNotFound when the session has no such answer.
        """
        persistence = self.deps.persistence
        text = persistence.processor.preprocess_user_message(" ".join(comment.split()))
        comment = persistence.recording.redact(text)
        rated = self.store.rate(session.id, client_message_id, rating, comment)
        if not await before_model(rated):
            raise SessionNotFound("There is no such answer in this chat.")
        now = persistence.clock.now()
        load = partial(rated_turn, self.store, session, client_message_id, now)
        await self.deps.hooks.tell("rated", load)

    async def page(
        self, session: Session, before: int | None, limit: int
    ) -> Sequence[StoredMessage]:
        """The newest `limit` messages with ids below `before`, by ascending id."""
        now = self.deps.persistence.clock.now()
        read = self.store.messages(session.id, before=before, limit=limit, now=now)
        return await before_model(read)

    async def listed(
        self, owner: str, config_id: str, cursor: str | None, limit: int
    ) -> tuple[Sequence[tuple[Session, str]], str | None]:
        """A page of a user's sessions, by the last message, newest first: each with a new token.

        Also returns the cursor of the next page. Raises ValueError for an invalid cursor.
        """
        now, wanted = (
            self.deps.persistence.clock.now(),
            SessionFilter(user=owner, config_id=config_id),
        )
        page = await before_model(self.store.newest(wanted, cursor, limit, now))
        tokens = await self._tokens()
        sessions = [row.session for row in page.rows]
        return [(one, tokens.issue(one.id, now, owner)) for one in sessions], page.cursor

    async def answer_to(self, session: Session, client_message_id: str) -> KnownAnswer:
        """The stored answer to a recent message, for a page that waits for it.

        Raises SessionBusy while the message is being answered, UpstreamUnavailable if it has no
        complete answer, and InvalidRequest if there is no such message.
        """
        newest = await self.page(session, None, NEWEST)
        asked = next((m for m in newest if m.client_message_id == client_message_id), None)
        if asked is None:
            raise InvalidRequest("There is no such message.", param="client_message_id")
        if asked.status == "pending":
            raise SessionBusy("This message is being answered.", retry_after=ASK_AGAIN)
        if asked.status != "ok":
            raise UpstreamUnavailable("This message has no complete answer.", should_retry=False)
        answers = (KnownAnswer(m.content, m.created_at) for m in newest if m.reply_to == asked.id)
        # None: the message went to a person.
        return next(answers, KnownAnswer("", asked.created_at))

    async def forget(self, id: SessionId) -> None:
        """Delete the session with all its data. Does nothing for a deleted session.

        If the store fails, the deletion is retried in the background, and UpstreamUnavailable is
        raised because it has not happened yet.
        """
        try:
            await self.store.delete(id)
        except StoreUnavailable as error:
            self.deps.persistence.writer.begin("a deletion", lambda: self.store.delete(id))
            message = "The chat cannot be deleted right now. Please try again."
            raise UpstreamUnavailable(message, retry_after=5) from error

    async def aclose(self) -> None:
        """Wait for a short time for unfinished writes, then cancel them."""
        await self.deps.capacity.aclose()
        await self.deps.hooks.aclose()
        await self.deps.persistence.writer.aclose()

    async def _tokens(self) -> SessionTokens:
        return await before_model(self._signer.tokens())

    async def _session_of_first(self, incoming: IncomingMessage) -> tuple[Session, bool]:
        """A new session; for a retry of a chat's first message, the session of that chat."""
        persistence = self.deps.persistence
        config = self.deps.configs.chosen(incoming.config_id)
        now = persistence.clock.now()
        id = session_id(self._entropy(ID_BYTES))
        if incoming.client_message_id is not None:
            tokens = await self._tokens()
            derived = tokens.session_for(
                incoming.client_message_id, incoming.address, incoming.owner
            )
            existing = await before_model(self.store.session(derived))
            if existing and now - existing.created_at <= RETRIES_FOR:
                return existing, False
            # An older session with this id is not continued: the message gets a random id.
            id = id if existing else derived
        return Session(id, NEW_TITLE, config.id, now, now), True
