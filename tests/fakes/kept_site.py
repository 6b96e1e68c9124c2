"""A site with stored chats in virtual time, whose store can be slow or away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from kefu.errors import StoreUnavailable
from kefu.sessions.hooks import EndedTurn, Hook
from kefu.sessions.store.model import CallRecord, Retention, Session, SessionId, StoredMessage
from kefu.sessions.store.overview import Day, SessionFilter
from kefu.stores.turns import date_of
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Answer, Connection, Process
from tests.fakes.in_process_upstream import InProcessUpstream, Reply, answer
from tests.fakes.relaying import CLOCK

ID = "11111111-2222-4333-8444-555555555555"


class Store(ChatsInMemory):
    """A store that takes its time, that is away for a while, and that lists its operations."""

    def __init__(self) -> None:
        super().__init__(CLOCK.now, Retention())
        self.steps: list[tuple[str, float]] = []
        """The names of operations, with the times at which they began."""
        self.seconds: dict[str, float] = {}
        """What an operation takes, by its name."""
        self.away_until: dict[str, float] = {}
        self.chat = SessionId("")
        """The chat of the last message."""

    def times(self, name: str) -> list[float]:
        return [at for step, at in self.steps if step == name]

    async def _step(self, name: str) -> None:
        self.steps.append((name, CLOCK.monotonic()))
        if CLOCK.monotonic() < self.away_until.get(name, 0):
            raise StoreUnavailable("away")
        if seconds := self.seconds.get(name):
            await asyncio.sleep(seconds)

    async def rate(self, *given: Any) -> bool:
        await self._step("rate")
        return await super().rate(*given)

    async def begin(self, session: Session, *given: Any) -> Any:
        self.chat = session.id
        await self._step("begin")
        return await super().begin(session, *given)

    async def renew(self, *given: Any) -> bool:
        await self._step("renew")
        return await super().renew(*given)

    async def messages(self, *given: Any, **more: Any) -> Any:
        await self._step("messages")
        return await super().messages(*given, **more)

    async def finish(self, *given: Any) -> Any:
        await self._step("finish")
        return await super().finish(*given)

    async def record(self, *given: Any) -> None:
        await self._step("record")
        await super().record(*given)

    async def save_trim_state(self, *given: Any) -> None:
        await self._step("save_trim_state")
        await super().save_trim_state(*given)

    async def delete(self, session_id: SessionId) -> None:
        await self._step("delete")
        await super().delete(session_id)


class Followed(Hook):
    """A hook that keeps the outcomes of turns."""

    def __init__(self) -> None:
        self.turns: list[EndedTurn] = []
        self.rated_turns: list[EndedTurn] = []

    async def after(self, turn: EndedTurn) -> None:
        self.turns.append(turn)

    async def rated(self, turn: EndedTurn) -> None:
        self.rated_turns.append(turn)


class Site:
    """A model that answers by a script, and a process with its store."""

    def __init__(self, *replies: Reply, model: InProcessUpstream | None = None, **options: Any):
        self.model = model or InProcessUpstream({"one key": replies or [answer()]})
        self.store = Store()
        self.followed = Followed()
        self.unsaved: list[str] = []
        """What was given up to be saved."""
        options["hooks"] = {"followed": self.followed, **options.get("hooks", {})}
        options.setdefault("on_unsaved", self.unsaved.append)
        self.process = Process(self.store, self.model, CLOCK, **options)
        self.last: Answer | None = None

    async def ask(self, words: str = "question", *, id: str | None = ID, **more: Any) -> Answer:
        """Send a message of the site's only chat."""
        given = await self.process.ask(words, self.last, client_message_id=id, **more)
        if "x-session-id" in given.headers:
            self.last = given
        return given

    async def began(self, seconds: float) -> Connection:
        """Send a message, and wait for so many seconds."""
        asked = self.process.connect("question", client_message_id=ID)
        await asyncio.sleep(seconds)
        return asked

    @property
    def session(self) -> SessionId:
        return self.store.chat

    async def chats(self) -> list[SessionId]:
        page = await self.store.newest(SessionFilter(), None, 9, CLOCK.now())
        return [row.session.id for row in page.rows]

    async def stored(self) -> list[tuple[str, str]]:
        return [(one.content, one.status) for one in await self.messages()]

    async def messages(self) -> Sequence[StoredMessage]:
        return await ChatsInMemory.messages(self.store, self.session, now=CLOCK.now())

    async def calls(self) -> Sequence[CallRecord]:
        return await self.store.calls(self.session)

    async def errors_of_calls(self) -> list[str | None]:
        """The codes of the calls' errors."""
        calls = await self.calls()
        return [json.loads(call.error)["code"] if call.error else None for call in calls]

    async def day(self) -> Day:
        today = date_of(CLOCK.now())
        days = await self.store.days(today, today)
        return days[0] if days else Day(today)

    async def errors(self) -> int:
        page = await self.store.newest(SessionFilter(), None, 9, CLOCK.now())
        return sum(row.errors for row in page.rows)

    @property
    def asked(self) -> int:
        """The requests to the model."""
        return len(self.model.exchanges)

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        """What the hooks were given after each turn."""
        return [(turn.status, turn.answer) for turn in self.followed.turns]


def facts(given: Answer) -> tuple[int, str, str | None]:
    """Its status, its error, and `Retry-After`."""
    return given.status, given.code, given.headers.get("retry-after")
