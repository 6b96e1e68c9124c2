"""The DynamoDB units of a chat, as DynamoDB Local counts them: C15, C19. The docs have these
figures.
"""

from __future__ import annotations

import pytest

from benchmarks.chats import turn_units
from benchmarks.costs import Month
from benchmarks.units import CASES, all_of

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
