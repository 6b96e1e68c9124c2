"""T1, T17, T33: the limits that count a request, and their order."""

from __future__ import annotations

import asyncio

import pytest

from kefu.chat.admission import BOT_CHECK_RATE, CHECKS_AT_ONCE, TOOL_RATE, Admission, Allowance
from kefu.chat.limits import Rate
from kefu.errors import BudgetExhausted, RateLimited, UpstreamUnavailable
from kefu.stores.memory import MemoryStore
from tests.fakes.spoken import HandClock


def admission(
    *, per_ip: Rate | None = None, site: Rate | None = None, per_session: Rate | None = None
) -> Admission:
    clock = HandClock()
    return Admission(MemoryStore(clock.now), clock, Allowance(per_ip, site, per_session))


async def admitted(one: Admission, ip: str) -> bool:
    """Admit a request that belongs to no stored chat."""
    try:
        await one.admit_address(ip)
        await one.admit_site()
    except RateLimited:
        return False
    return True


async def test_t1_a_request_refused_by_its_address_costs_the_site_nothing() -> None:
    one = admission(per_ip=Rate(5, 60), site=Rate(60, 60))
    attacker = [await admitted(one, "6.6.6.6") for _ in range(100)]
    assert sum(attacker) == 5
    others = [await admitted(one, f"1.1.1.{number}") for number in range(55)]
    assert all(others)
    assert not await admitted(one, "2.2.2.2"), "the site's own limit counts all of them"


async def test_t1_after_the_returned_wait_a_request_passes() -> None:
    clock = HandClock()
    one = Admission(MemoryStore(clock.now), clock, Allowance(per_ip=Rate(5, 60)))
    for _ in range(5):
        await one.admit_address("1.1.1.1")
    with pytest.raises(RateLimited) as refused:
        await one.admit_address("1.1.1.1")
    assert refused.value.retry_after == 12
    clock.time += 12
    await one.admit_address("1.1.1.1")


async def test_messages_reads_and_notes_are_counted_apart() -> None:
    one = admission(per_ip=Rate(1, 60), per_session=Rate(1, 60))
    await one.admit_address("1.1.1.1")
    await one.admit_note("1.1.1.1")
    await one.admit_session("abc")
    await one.admit_reader("abc")
    for again in (one.admit_address, one.admit_note):
        with pytest.raises(RateLimited):
            await again("1.1.1.1")


@pytest.mark.parametrize(
    ("per_ip", "ip_changes", "chat_changes"),
    [(Rate(5, 60), False, True), (None, True, False)],
    ids=["an address, whatever the chats", "a chat, without a limit for addresses"],
)
async def test_a11_calls_of_tools_have_a_limit(
    per_ip: Rate | None, ip_changes: bool, chat_changes: bool
) -> None:
    one = admission(per_ip=per_ip)

    async def call(number: int) -> None:
        ip = f"1.1.1.{number}" if ip_changes else "6.6.6.6"
        await one.admit_tool(ip, f"chat {number}" if chat_changes else "chat")

    for number in range(TOOL_RATE.requests):
        await call(number)
    with pytest.raises(RateLimited):
        await call(TOOL_RATE.requests)
    await one.admit_tool("2.2.2.2", "another chat")


async def test_t17_checks_of_one_address_are_counted_and_bounded() -> None:
    one = admission()
    end = asyncio.Event()

    async def check(ip: str) -> None:
        async with one.checking(ip):
            await end.wait()

    waiting = [asyncio.create_task(check("6.6.6.6")) for _ in range(50)]
    await asyncio.sleep(0)
    refused = [task for task in waiting if task.done()]
    assert len(refused) == 50 - CHECKS_AT_ONCE
    assert all(isinstance(task.exception(), RateLimited) for task in refused)
    end.set()
    await check("1.1.1.1")
    await asyncio.gather(*waiting, return_exceptions=True)
    for _ in range(BOT_CHECK_RATE.requests - CHECKS_AT_ONCE):
        await check("6.6.6.6")
    with pytest.raises(RateLimited):
        await check("6.6.6.6")


async def test_g33_each_site_has_its_rate_and_its_budget_and_all_share_the_process() -> None:
    clock = HandClock()
    allowance = Allowance(site=Rate(2, 60), daily_tokens=100, streams=2)
    whole = Admission(MemoryStore(clock.now), clock, allowance)
    own, sharing = whole.of_site("own", 100), whole.of_site("sharing", None)
    for one in (whole, own, sharing):
        for _ in range(2):
            await one.admit_site()
        with pytest.raises(RateLimited, match="Too many requests"):
            await one.admit_site()
    for one in (own, whole):
        async with one.budget(100, lambda: 100):
            pass
    for one in (own, whole, sharing):
        with pytest.raises(BudgetExhausted):
            async with one.budget(1, lambda: 1):
                pass
    used = own.slot("1.1.1.1"), sharing.slot("1.1.1.2")
    with used[0], used[1], pytest.raises(UpstreamUnavailable), whole.slot("1.1.1.3"):
        pass
    whole.close()
    with pytest.raises(UpstreamUnavailable), own.slot("1.1.1.1"):
        pass
