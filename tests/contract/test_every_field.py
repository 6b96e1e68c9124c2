"""Every engine stores every field of a message, a turn, a call and a session (M4).

One script sets each field to something else than its default, and each engine must return what
SQLite in memory returns. A field that the script does not set fails here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from kefu.sessions.store.answers import WrittenAnswer
from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import (
    LEASE,
    BeginResult,
    CallRecord,
    NewMessage,
    Session,
    StoredMessage,
    TurnOutcome,
)
from kefu.sessions.store.overview import AskedQuestion, Day, Overview, SessionFilter, ToolDay
from kefu.sessions.store.ports import Sessions
from kefu.stores.turns import date_of
from kefu.tools.use import Use, stored
from tests.contract.chats import ONE, body, call, response
from tests.contract.engines import HandClock
from tests.fakes.chats_in_memory import ChatsInMemory

GIVEN = (NewMessage, TurnOutcome)
"""What the script gives to the store."""
RETURNED = (
    StoredMessage,
    BeginResult,
    Session,
    Attendance,
    CallRecord,
    ContactRequest,
    WrittenAnswer,
    Overview,
    Day,
    ToolDay,
)
"""What the store returns."""


STEPS = stored(
    [
        Use("a", "stock", "{}", state="failed", title="Looking"),
        Use("b", "cancel", "{}", state="unsure", card="Cancel it?"),
        Use("c", "cancel", "{}", state="asked", card="Cancel it?"),
        Use("d", "cancel", "{}", state="denied", card="Cancel it?"),
    ]
)


class Told(NamedTuple):
    given: list[Any]
    returned: list[Any]


class Script:
    """A chat in which each field is set once. Each step is some seconds after the one before."""

    def __init__(self, store: Sessions, clock: HandClock) -> None:
        self.store = store
        self.clock = clock
        self.told = Told([], [])

    async def begin(self, session: Session, asked: NewMessage) -> BeginResult:
        self.clock.now += 1.25
        begun = await self.store.begin(session, asked, self.clock.now)
        self.told.given.append(asked)
        self.told.returned.append(begun)
        return begun

    async def finish(self, begun: BeginResult, ended: TurnOutcome) -> None:
        self.clock.now += 1.25
        ids = begun.message.session_id, begun.message.id
        self.told.given.append(ended)
        saved = await self.store.finish(*ids, ended, self.clock.now, begun.retries)
        self.told.returned.append(saved)

    async def look(self) -> None:
        """Read all that the store has."""
        store, now, today = self.store, self.clock.now, date_of(self.clock.now)
        found = await store.questions(0, now + 1, 9, now)
        everything = [
            await store.session(ONE),
            *await store.messages(ONE, now=now),
            *await store.calls(ONE),
            *(await store.newest(SessionFilter(), None, 9, now)).rows,
            *await store.days(today, today),
            *await store.tool_days(today, today),
            *await store.contacts(9),
            *await store.answers(),
            *(one._replace(comments=tuple(one.comments)) for one in found.questions),
        ]
        self.told.returned.extend(everything)

    async def run(self) -> Told:
        await self._turns()
        await self.look()
        await self._person()
        await self.look()
        return self.told

    async def _turns(self) -> None:
        """A question that the pages do not answer, one that fails and is retried, and a new answer
        to it, which is requested twice.
        """
        at = self.clock.now + 1.25
        chat = Session(ONE, "a title", "sales", at, at, user="anna@example.org")
        asked = NewMessage("What do hats cost?", "first", images='[["image/png",1,1]]')
        begun = await self.begin(chat, asked)
        ended = TurnOutcome(
            "ok", "I do not know.", 20, 5, unanswered=True, first_word=0.25, proved=True
        )
        await self.finish(begun, ended)
        await self.store.rate(ONE, "first", "down", "it is on the page")
        message = begun.message.id
        made = call(message, self.clock.now, request=body([]), answer=response("I do not know."))
        await self.store.record(made)
        await self.store.record(made._replace(number=2, error='{"code":"x"}'))
        await self.store.save_trim_state(ONE, '{"cut":1}')
        asked = NewMessage("And in Oslo?", "second")
        await self.finish(await self.begin(chat, asked), TurnOutcome("failed"))
        await self.finish(await self.begin(chat, asked), TurnOutcome("ok", "Twenty."))
        asked = asked._replace(replaces=True, attempt="one")
        begun = await self.begin(chat, asked)
        await self.begin(chat, asked)  # busy
        at = self.clock.now
        assert await self.store.renew(ONE, begun.message.id, begun.retries, at, '[{"id":"a"}]')
        await self.look()
        ended = TurnOutcome("ok", "Thirty.", steps=STEPS, question="In Rome?", images="[]")
        await self.finish(begun, ended)
        await self.begin(chat, asked)  # the retry of a request, which has its answer
        await self.store.rate(ONE, "second", "up")

    async def _person(self) -> None:
        store, now = self.store, self.clock.now
        request = ContactRequest(
            "r", ONE, "Anna", "a@example.org", "Call me.", now, due_at=now, consent="I agree."
        )
        await store.add_contact(request)
        await store.count_assistant(now)
        await store.save_answer(
            WrittenAnswer("a", "Hats?", "Yes.", "Ingrid", "/hats", ONE, "shop", now, now + 1.5)
        )
        self.told.returned.append(claimed := await store.claim_contact(now, now + 9))
        assert claimed
        await store.end_contact(claimed, due_at=now + 9, delivered_at=now + 1.5)
        await store.mark_contact("r", now + 2.5)
        [ended] = await store.contacts(9)
        mail = ended._replace(mail_due_at=now + 9.5, mail_line=4, mail_attempts=2, mailed_at=now)
        await store.set_mail(ended, mail)
        for change in (Attendance("waiting", "", now), Attendance("person", "Ingrid", now + 1)):
            self.told.returned.append(await store.set_attendance(ONE, change))
            await self.look()
        line = OperatorMessage("Hello, how can I help?", "Ingrid", "line 1", "Hei!")
        await store.add_line(ONE, line, now)
        self.clock.now += LEASE


def parts(values: Sequence[Any]) -> Iterator[Any]:
    """The values, with all that they consist of."""
    for one in values:
        yield one
        if isinstance(one, tuple):
            yield from parts(one)


def unset(kind: Any, values: Sequence[Any]) -> set[str]:
    """The fields that have their default in each value of this type."""
    found = [one for one in parts(values) if type(one) is kind]
    assert found, f"the script has no {kind.__name__}"
    defaults = kind._field_defaults
    return {
        name
        for name, default in defaults.items()
        if all(getattr(one, name) == default for one in found)
    }


async def expected(now: float) -> Told:
    clock = HandClock()
    clock.now = now
    return await Script(ChatsInMemory(clock), clock).run()


@pytest.mark.parametrize("kind", [*GIVEN, *RETURNED, AskedQuestion])
async def test_the_script_sets_every_field(kind: Any) -> None:
    """A new field fails here, until the script sets it. Then each engine must store it."""
    told = await expected(HandClock().now)
    assert unset(kind, told.given if kind in GIVEN else told.returned) == set()


async def test_every_engine_returns_every_field_as_sqlite_in_memory_does(
    sessions: Sessions, clock: HandClock
) -> None:
    memory = await expected(clock.now)
    told = await Script(sessions, clock).run()
    assert told.given == memory.given
    assert len(told.returned) == len(memory.returned)
    for one, other in zip(told.returned, memory.returned, strict=True):
        assert one == other
        assert type(one) is type(other)
