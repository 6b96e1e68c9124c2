"""Kept chats, ready to be asked: whose they are, and where a message belongs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.errors import SessionNotFound
from kefu.session_tokens import ID_BYTES, Tokens, session_id
from kefu.sessions import Rating, Session, SessionId, Sessions, SessionStore, StoredMessage
from kefu.turn import Asking, Turn, Ways, in_time

NEW_TITLE = "新对话"

RETRIES_FOR = 600.0
"""Seconds for which a first message that comes again finds the chat that it began."""


class Signer:
    """Signs with the secrets that were set, else with the one that the store keeps."""

    def __init__(
        self, store: SessionStore, secrets: Sequence[str], candidate: str, life: float
    ) -> None:
        """`candidate`: what the store keeps if it has none yet. `life`: a token's, in seconds."""
        self._store = store
        self._candidate = candidate
        self._life = life
        self._tokens = Tokens(secrets, life) if secrets else None

    async def tokens(self) -> Tokens:
        if self._tokens is None:
            self._tokens = Tokens([await self._store.secret(self._candidate)], self._life)
        return self._tokens


class Turns:
    def __init__(self, ways: Ways, signer: Signer, entropy: Callable[[int], bytes]) -> None:
        """`entropy` gives so many random bytes."""
        self.ways = ways
        self._signer = signer
        self._entropy = entropy

    @property
    def store(self) -> Sessions:
        return self.ways.writing.store

    async def owned(self, session: str, token: str, owner: str = "") -> Session:
        """A visitor's own session. Raises SessionNotFound, for whatever reason it is not."""
        writing, known = self.ways.writing, SessionId(session)
        tokens = await self._tokens()
        found: Session | None = None
        if tokens.owns(token, known, writing.clock.now(), owner):
            found = await in_time(self.store.session(known))
        if found is None:
            raise SessionNotFound("This chat is not known here, or not any more.")
        return found

    async def open(self, asking: Asking) -> Turn:
        """The session, a new one perhaps, and its config; nothing is saved yet (P3, P4).

        Raises SessionNotFound, InvalidRequest, and UpstreamUnavailable when the store is away.
        """
        if asking.session_id is None:
            session, is_new = await self._begun_by(asking)
        else:
            session, is_new = await self.owned(asking.session_id, asking.token, asking.owner), False
        config = self.ways.configs.of_session(session.config_id)
        return Turn(self.ways, asking, session, config, is_new=is_new)

    async def token(self, session: SessionId, owner: str = "") -> str:
        return (await self._tokens()).issue(session, self.ways.writing.clock.now(), owner)

    async def rate(self, session: Session, client_message_id: str, rating: Rating | None) -> None:
        """Raises SessionNotFound when there is no such answer in it."""
        rated = self.store.rate(session.id, client_message_id, rating)
        if not await in_time(rated):
            raise SessionNotFound("There is no such answer in this chat.")

    async def page(
        self, session: Session, before: int | None, limit: int
    ) -> Sequence[StoredMessage]:
        """The newest `limit` messages with ids under `before`, oldest of them first."""
        now = self.ways.writing.clock.now()
        read = self.store.messages(session.id, before=before, limit=limit, now=now)
        return await in_time(read)

    async def forget(self, session: Session) -> None:
        await in_time(self.store.delete(session.id))

    async def aclose(self) -> None:
        """What is still to be written gets a moment more."""
        await self.ways.writing.keeper.aclose()

    async def _tokens(self) -> Tokens:
        return await in_time(self._signer.tokens())

    async def _begun_by(self, asking: Asking) -> tuple[Session, bool]:
        """A new session; or the one that this very message began, when it comes again."""
        writing = self.ways.writing
        config = self.ways.configs.chosen(asking.config_id)
        now = writing.clock.now()
        known = session_id(self._entropy(ID_BYTES))
        if asking.client_message_id is not None:
            tokens = await self._tokens()
            same = tokens.session_for(asking.client_message_id, asking.address, asking.owner)
            begun = await in_time(self.store.session(same))
            if begun and now - begun.created_at <= RETRIES_FOR:
                return begun, False
            # Taken, and too old to be a retry: whoever sends the id again gets another chat.
            known = known if begun else same
        return Session(known, NEW_TITLE, config.id, now, now), True
