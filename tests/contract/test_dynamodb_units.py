"""The DynamoDB units of a chat, as DynamoDB Local counts them: C15, C19. The docs have these
figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from benchmarks.chats import panel_units, turn_units
from benchmarks.costs import Month
from benchmarks.units import CASES, all_of
from tests.contract.engines import new_table
from tests.fakes.metering_front import MeteringFront
from tests.fakes.shopping import CHOOSING, Shopper, orders, settings_file
from tests.fakes.stage import UNHURRIED, stage
from tests.fakes.tool_shop import ToolShop

LIMITED = "limit by address (the default), a quiet site"
BUDGETED = "and a daily token budget, a quiet site"
AS_ON_AWS = "and a limit for the site"
FAILING = "no limits, a key answers 429"
BUSY = "and a limit for the site, 20 visitors in a row"
# The read and write units of all chats of a case together.
FIGURES = {
    "no limits, a quiet site": (0.5, 0),
    LIMITED: (0.5, 1),
    BUDGETED: (0.5, 1),
    AS_ON_AWS: (Month().reads, 2),
    FAILING: (0.5, 1),
}


@pytest.mark.slow
async def test_a_chat_costs_half_a_read_unit_and_no_write_without_limits(
    dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """On a quiet site, a rate limit costs one write, and a cooldown one. A budget and the site's
    limit are leased (scale E4): the first chat of a process pays. The bill (aws m3) counts four
    writes, as if each chat were the first one.
    """
    cases = [case for case in CASES if case.name in FIGURES or case.name == BUSY]
    bills = await all_of(cases, dynamodb_local)
    assert bills[BUSY].writes / 20 <= 1.5
    assert {name: (bills[name].reads, bills[name].writes) for name in FIGURES} == FIGURES
    # The template's role allows no other calls while chats are not stored.
    assert set().union(*(bill.calls for bill in bills.values())) == {"GetItem", "UpdateItem"}


@pytest.mark.slow
async def test_chats_in_a_row_share_one_read(
    dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """Cooldowns are cached for two seconds; on a slow machine a second read may be necessary."""
    [burst] = [case for case in CASES if case.name == "no limits, 10 in a row"]
    bill = (await all_of([burst], dynamodb_local))[burst.name]
    assert bill.writes == 0
    assert 0.5 <= bill.reads <= 1.0


KEEPING = {
    "a chat's first turn": (2, 9),
    "a turn: its beginning, and the history": (5, 3),
    "half a lease more of a turn": (0, 2),
    "a turn: its end": (0, 4),
    "a turn: the call": (1, 1),
    "a call with its bodies": (1, 11),
    "a turn after ten quiet minutes, all of it": (6, 10),
    "a message sent again": (1, 3),
    "the newest 20 messages": (5, 0),
}


@pytest.mark.slow
async def test_p33_a_turn_that_is_kept_costs_eight_writes_and_six_reads(
    dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """The answer has 1.2 KB, which takes two of the writes. A call with its bodies, which are those
    of 20 messages, takes 11.
    """
    bills = await turn_units(dynamodb_local)
    seen = {name: (bill.reads, bill.writes) for name, bill in bills.items() if name in KEEPING}
    assert seen == KEEPING
    steps = [units for name, units in KEEPING.items() if name.startswith("a turn: ")]
    assert [sum(units) for units in zip(*steps, strict=True)] == [
        Month().kept_reads,
        Month().kept_writes,
    ]


@pytest.mark.slow
async def test_e7_an_open_panel_reads_what_the_page_of_costs_counts(
    dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    bills = await panel_units(dynamodb_local)
    # DynamoDB Local counts no unit for an empty answer; the page counts one for each.
    assert bills.pop("the schedule: nothing is due").calls == {"Query": Month().schedule_reads}
    assert [bill.writes for bill in bills.values()] == [0, 0]
    assert [bill.reads for bill in bills.values()] == [Month().waits_reads, Month().list_reads]


LOOK_UP = {"a question": 7, "a look-up": 11, "a card": 11, "its click": 13}


@pytest.mark.slow
async def test_a_look_up_in_a_stored_chat_costs_four_writes_more_than_a_question(
    dynamodb_local: str, aws_environment: dict[str, str], tmp_path: Path
) -> None:
    """With the limit by address: the limit of calls (two writes in a bucket in use), the record of
    the second request to the model, and the sums of the tools of a day. docs/tools.md has these.
    """
    table = await new_table(dynamodb_local, lambda: 0.0, with_ttl=True)
    with MeteringFront(dynamodb_local) as front, ToolShop() as shop:
        shop.orders = orders(range(1, 9))
        environment = {**aws_environment, "AWS_ENDPOINT_URL_DYNAMODB": front.url}
        config = settings_file(tmp_path, shop.url)
        with stage(
            environment=environment,
            store=f"dynamodb://{table.table}",
            config=config,
            ip_requests_per_minute=300,
            **UNHURRIED,
        ) as running:
            running.script(CHOOSING)
            visitor = Shopper(running)
            for text in ("Hello", "Where is order 1?"):  # the first of a chat write more
                await visitor.say(text, steps=True)
            turns: dict[str, Callable[[], Awaitable[object]]] = {
                "a question": lambda: visitor.say("Hello again", steps=True),
                "a look-up": lambda: visitor.say("Where is order 2?", steps=True),
                "a card": lambda: visitor.asks_to_cancel(3),
                "its click": visitor.click,
            }
            seen = {}
            for name, turn in turns.items():
                await asyncio.sleep(1)  # the end of the turn before is saved
                front.settle()
                await turn()
                await asyncio.sleep(1)
                seen[name] = front.settle().writes
    await table.aclose()
    assert seen == LOOK_UP
