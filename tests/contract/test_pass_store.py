"""The contract of every PassStore (H24): listed until they expire, and refused once ended."""

from __future__ import annotations

from typing import Any

from kefu.sessions.store.passes import SignIn
from kefu.sessions.store.ports import Sessions
from tests.contract.engines import HandClock


def sign_in(clock: HandClock, id: str, **more: Any) -> SignIn:
    return SignIn(id, clock.now, int(clock.now) + 43200, **more)


async def test_h24_open_sign_ins_are_listed_with_all_fields_newest_first(
    sessions: Sessions, clock: HandClock
) -> None:
    assert list(await sessions.sign_ins(clock.now)) == []
    bare = sign_in(clock, "5f3c9a7e1b6d20c8")
    await sessions.add_sign_in(bare)
    clock.now += 60
    whole = sign_in(clock, "0c81", operator="Ingrid Ødegård", site="shop", may="read")
    for _ in range(2):  # the second is a retry
        await sessions.add_sign_in(whole)
    assert list(await sessions.sign_ins(clock.now)) == [whole, bare]
    assert list(await sessions.sign_ins(bare.expires_at)) == [whole]
    clock.now += 43200
    assert list(await sessions.sign_ins(clock.now)) == []


async def test_h24_an_ended_sign_in_stays_ended(sessions: Sessions, clock: HandClock) -> None:
    kept, gone = sign_in(clock, "a1"), sign_in(clock, "a2")
    for one in (kept, gone):
        await sessions.add_sign_in(one)
        assert not await sessions.has_ended(one.id)
    assert not await sessions.end_sign_in("a3", clock.now)
    assert not await sessions.has_ended("a3")
    for _ in range(2):
        assert await sessions.end_sign_in(gone.id, clock.now)
    await sessions.add_sign_in(gone)  # a late retry opens nothing
    assert [await sessions.has_ended(one.id) for one in (kept, gone)] == [False, True]
    assert list(await sessions.sign_ins(clock.now)) == [kept]
