"""The contract of every ContactStore (H2): stored once, delivered by one, nothing lost."""

from __future__ import annotations

import asyncio

import pytest

from kefu.sessions.contacts import ContactRequest
from kefu.sessions.ports import Sessions
from tests.contract.chats import DAY, ONE
from tests.contract.engines import HandClock


def asked(clock: HandClock, name: str = "request-1") -> ContactRequest:
    return ContactRequest(
        name, ONE, "Kari 客", "kari@example.no", "Svalbard?\n🙂", clock.now, due_at=clock.now
    )


async def test_h2_a_request_is_stored_once_whatever_is_sent_again(
    sessions: Sessions, clock: HandClock
) -> None:
    first = asked(clock)
    again = first._replace(message="other", created_at=clock.now + 1)
    await asyncio.gather(*(sessions.add_contact(first) for _ in range(5)))
    await sessions.add_contact(again)
    assert list(await sessions.contacts(10)) == [first]


async def test_h2_one_of_many_claims_gets_a_request(sessions: Sessions, clock: HandClock) -> None:
    await sessions.add_contact(asked(clock))
    claims = (sessions.claim_contact(clock.now, clock.now + 60) for _ in range(8))
    got = [one for one in await asyncio.gather(*claims) if one]
    assert got == [asked(clock)._replace(attempts=1, due_at=clock.now + 60)]


async def test_h2_a_claim_that_never_ends_is_due_again(
    sessions: Sessions, clock: HandClock
) -> None:
    """As of a process that was killed while it delivered."""
    await sessions.add_contact(asked(clock))
    lost = await sessions.claim_contact(clock.now, clock.now + 60)
    assert lost
    clock.now += 59
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    clock.now += 2
    again = await sessions.claim_contact(clock.now, clock.now + 60)
    assert again
    assert again.attempts == 2
    # The first process was not killed, only slow: the second one decides.
    await sessions.end_contact(lost, due_at=0.0, delivered_at=None)
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None


async def test_h2_a_failed_delivery_is_due_at_its_time_and_a_delivered_one_never(
    sessions: Sessions, clock: HandClock
) -> None:
    await sessions.add_contact(asked(clock))
    first = await sessions.claim_contact(clock.now, clock.now + 60)
    assert first
    await sessions.end_contact(first, due_at=clock.now + 5, delivered_at=None)
    assert await sessions.claim_contact(clock.now + 4, clock.now + 60) is None
    clock.now += 5
    second = await sessions.claim_contact(clock.now, clock.now + 60)
    assert second
    await sessions.end_contact(second, due_at=second.due_at, delivered_at=clock.now)
    clock.now += DAY
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    await sessions.add_contact(asked(clock))  # the client's retry of a delivered request
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    [kept] = await sessions.contacts(10)
    assert kept.attempts == 2
    assert kept.delivered_at == pytest.approx(clock.now - DAY)


async def test_h2_every_waiting_request_is_claimed_and_the_newest_are_listed_first(
    sessions: Sessions, clock: HandClock
) -> None:
    names = [f"request-{number}" for number in range(5)]
    for name in names:
        await sessions.add_contact(asked(clock, name))
        clock.now += 1
    claimed = [await sessions.claim_contact(clock.now, clock.now + 60) for _ in names]
    assert sorted(one.id for one in claimed if one) == names
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    assert [one.id for one in await sessions.contacts(2)] == names[:2:-1]


async def test_h2_a_request_expires_like_a_chat(sessions: Sessions, clock: HandClock) -> None:
    await sessions.add_contact(asked(clock))
    clock.now += 31 * DAY
    assert await sessions.contacts(10) == []
