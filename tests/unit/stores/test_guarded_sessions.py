"""D5, D6: how long a chat waits for its store, and what becomes of a message saved too late."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kefu.errors import QueryTimeout, StoreUnavailable
from kefu.sessions.store.model import NewMessage, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.stores.guarded.sessions import GuardedSessions
from tests.fakes.kept_site import Store
from tests.fakes.relaying import CLOCK, in_virtual_time

CHAT = SessionId("a" * 32)
ASKED = NewMessage("question", "id")


class Querying(Store):
    """A store whose lists and reads of a session can be slow, too."""

    async def newest(self, *given: Any) -> Any:
        await self._step("newest")
        return await super().newest(*given)

    async def session(self, *given: Any) -> Any:
        await self._step("session")
        return await super().session(*given)


class Site:
    def __init__(self) -> None:
        self.store = Querying()
        self.degraded: list[str] = []
        self.guarded = GuardedSessions(self.store, on_degraded=self.degraded.append)

    async def begin(self, asked: NewMessage = ASKED) -> Any:
        now = CLOCK.now()
        return await self.guarded.begin(Session(CHAT, "", "default", now, now), asked, now)

    async def took(self, operation: str, call: Any) -> float:
        """The seconds after which a call of a store that hangs is given up."""
        self.store.seconds[operation] = 1000
        began = CLOCK.monotonic()
        with pytest.raises(StoreUnavailable):
            await call
        self.store.seconds.clear()
        return CLOCK.monotonic() - began

    async def stored(self) -> list[tuple[str, str]]:
        messages = await self.store.messages(CHAT, now=CLOCK.now())
        return [(one.content, one.status) for one in messages]


async def started() -> Site:
    """A site whose store has answered before."""
    site = Site()
    assert await site.guarded.session(CHAT) is None
    return site


@in_virtual_time
async def test_d6_the_first_answer_of_a_store_may_take_three_seconds_and_others_one() -> None:
    site = Site()
    site.store.seconds["session"] = 2.9
    assert await site.guarded.session(CHAT) is None
    assert await site.took("session", site.guarded.session(CHAT)) == pytest.approx(1)
    await site.guarded.circuit.aclose()
    site = Site()
    assert await site.took("session", site.guarded.session(CHAT)) == pytest.approx(3)
    assert await site.took("session", site.guarded.session(CHAT)) == pytest.approx(1)
    assert site.degraded == [
        "reading a session: no answer in 3 s",
        "reading a session: no answer in 1 s",
    ]
    await site.guarded.circuit.aclose()


@in_virtual_time
async def test_d5_a_message_that_is_saved_too_late_ends_as_failed() -> None:
    """Else the visitor's next try would find it busy."""
    site = await started()
    site.store.seconds["begin"] = 1.5
    with pytest.raises(StoreUnavailable):
        await site.begin()
    await asyncio.sleep(1)
    assert await site.stored() == [("question", "failed")]
    site.store.seconds.clear()
    begun = await site.begin()
    assert (begun.retries, begun.busy_for) == (1, 0)
    await site.guarded.circuit.aclose()


@in_virtual_time
async def test_d5_a_message_whose_visitor_left_while_it_was_saved_ends_as_failed() -> None:
    site = await started()
    site.store.seconds["begin"] = 0.5
    saving = asyncio.create_task(site.begin())
    await asyncio.sleep(0.1)
    saving.cancel()
    await asyncio.wait({saving})
    assert saving.cancelled()
    await asyncio.sleep(1)
    assert await site.stored() == [("question", "failed")]
    assert site.degraded == []
    await site.guarded.circuit.aclose()


@pytest.mark.parametrize("is_answered", [True, False])
@in_virtual_time
async def test_d5_a_late_look_at_a_message_of_another_request_changes_nothing(
    is_answered: bool,
) -> None:
    """It is answered, or it is being answered."""
    site = await started()
    begun = await site.begin()
    if is_answered:
        ended = TurnOutcome("ok", "answer")
        await site.guarded.finish(CHAT, begun.message.id, ended, CLOCK.now())
    before = await site.stored()
    site.store.seconds["begin"] = 1.5
    with pytest.raises(StoreUnavailable):
        await site.begin()
    await asyncio.sleep(1)
    assert await site.stored() == before
    await site.guarded.circuit.aclose()


@in_virtual_time
async def test_d5_a_message_that_is_never_saved_needs_no_end() -> None:
    site = await started()
    site.store.seconds["begin"] = 1.5
    site.store.away_until["finish"] = 60
    with pytest.raises(StoreUnavailable):
        await site.begin()
    await asyncio.sleep(1)
    assert await site.stored() == [("question", "pending")]
    assert len(site.store.times("finish")) == 1
    await site.guarded.circuit.aclose()


@in_virtual_time
async def test_d6_what_no_chat_waits_for_has_ten_seconds_and_a_list_eight() -> None:
    site = await started()
    begun = await site.begin()
    ended = TurnOutcome("ok", "answer")
    finish = site.guarded.finish(CHAT, begun.message.id, ended, CLOCK.now())
    assert await site.took("finish", finish) == pytest.approx(10)
    renew = site.guarded.renew(CHAT, begun.message.id, 0, CLOCK.now())
    assert await site.took("renew", renew) == pytest.approx(10)
    site.store.seconds["newest"] = 1000
    began = CLOCK.monotonic()
    with pytest.raises(QueryTimeout):
        await site.guarded.newest(SessionFilter(), None, 9, CLOCK.now())
    assert CLOCK.monotonic() - began == pytest.approx(8)
    await site.guarded.circuit.aclose()


@in_virtual_time
async def test_d8_a_store_that_failed_three_times_is_not_asked_but_for_what_nobody_waits_for() -> (
    None
):
    site = await started()
    begun = await site.begin()
    for _ in range(3):
        await site.took("session", site.guarded.session(CHAT))
    asked, began = len(site.store.steps), CLOCK.monotonic()
    with pytest.raises(StoreUnavailable, match="the store does not answer"):
        await site.guarded.session(CHAT)
    with pytest.raises(StoreUnavailable, match="the store does not answer"):
        await site.begin()
    assert (len(site.store.steps), CLOCK.monotonic()) == (asked, began)
    ended = TurnOutcome("ok", "answer")
    assert await site.guarded.finish(CHAT, begun.message.id, ended, CLOCK.now())
    await asyncio.sleep(3.1)
    assert await site.guarded.session(CHAT)
    await site.guarded.circuit.aclose()
