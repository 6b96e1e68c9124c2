"""What a chat costs in DynamoDB, by DynamoDB's own count: C15, C19; the figures of the docs."""

from __future__ import annotations

from benchmarks.chats import turn_units
from benchmarks.costs import Month
from benchmarks.units import CASES, all_of

LIMITED = "limit by address (the default), a quiet site"
BUDGETED = "and a daily token budget, a quiet site"
FAILING = "no limits, a key answers 429"
# For all chats of a case together: read units, write units.
FIGURES = {
    "no limits, a quiet site": (0.5, 0),
    LIMITED: (Month().reads, Month().writes),
    BUDGETED: (0.5, 3),
    FAILING: (0.5, 1),
}


async def test_a_chat_costs_half_a_read_unit_and_no_write_without_limits(
    dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """A rate limit is one write on a quiet site, a budget two; a key that cools is one."""
    cases = [case for case in CASES if case.name in FIGURES]
    bills = await all_of(cases, dynamodb_local)
    assert {name: (bill.reads, bill.writes) for name, bill in bills.items()} == FIGURES
    # All that the role in template.yaml may do while no chats are kept.
    assert set().union(*(bill.calls for bill in bills.values())) == {"GetItem", "UpdateItem"}


async def test_chats_in_a_row_share_one_read(
    dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """The view of the cooldowns is kept for two seconds; a slow machine may need a second one."""
    [burst] = [case for case in CASES if case.name == "no limits, 10 in a row"]
    bill = (await all_of([burst], dynamodb_local))[burst.name]
    assert bill.writes == 0
    assert 0.5 <= bill.reads <= 1.0


KEEPING = {
    "a chat's first turn": (2, 10),
    "a turn: its beginning, and the history": (5, 3),
    "half a minute more of a turn": (0, 2),
    "a turn: its end": (0, 4),
    "a turn: the call": (1, 1),
    "a turn after ten quiet minutes, all of it": (6, 10),
    "a message sent again": (1, 3),
    "the newest 20 messages": (5, 0),
}


async def test_p33_a_turn_that_is_kept_costs_eight_writes_and_six_reads(
    dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """With all that was sent; its answer is 1.2 KB, and so two of the writes."""
    bills = await turn_units(dynamodb_local)
    seen = {name: (bill.reads, bill.writes) for name, bill in bills.items() if name in KEEPING}
    assert seen == KEEPING
    steps = [units for name, units in KEEPING.items() if name.startswith("a turn: ")]
    assert [sum(units) for units in zip(*steps, strict=True)] == [
        Month().kept_reads,
        Month().kept_writes,
    ]
