"""A10: many clicks on a shop that often fails, in each of its ways."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.fakes.chatting import STORE
from tests.fakes.fixtures import Staged
from tests.fakes.shopping import CHOOSING, WRITTEN, Shopper, orders, outcome, settings_file
from tests.fakes.stage import UNHURRIED
from tests.fakes.tool_shop import Fault, ToolShop

AT_ONCE = 40
FAULTS: Sequence[Fault] = get_args(Fault)
EVERY = 5
"""One order in five meets a fault, so a fifth of them does."""

HAPPENED = {"done": {1}, "failed": {0}, "unsure": {0, 1}}
"""How often an order may have been cancelled after each outcome."""
SURE = {
    "bad_json": "done",
    "big": "done",
    "bomb": "done",
    "drip": "done",
}
"""The faults after which it is certain that a write was done: its response has begun with 200, and
is no page for people.
"""


@pytest.mark.slow
@pytest.mark.parametrize("clicks", [120, 1000])
async def test_a10_of_many_clicks_on_a_failing_shop_none_is_a_write_twice_or_a_lie(
    staged: Staged, tmp_path: Path, clicks: int
) -> None:
    """Each click is sent once more, every seventh at once in two tabs."""
    numbers = range(1000, 1000 + clicks)
    expected: dict[int, str] = {}
    with ToolShop() as shop:
        shop.orders |= orders(numbers)
        for at, number in enumerate(numbers[::EVERY]):
            fault = FAULTS[at % len(FAULTS)]
            shop.fail(fault, path=f"/orders/{number}/cancel")
            expected[number] = SURE.get(fault, "unsure")
        for number in numbers[1::10]:
            shop.orders[str(number)]["state"] = "sent"  # which the shop answers with 409
            expected[number] = "failed"
        config = settings_file(tmp_path, shop.url)
        running = staged(20, config=config, store=STORE, capture="off", **UNHURRIED)
        running.script(CHOOSING)
        outcomes: dict[int, str] = {}
        room = asyncio.Semaphore(AT_ONCE)

        async def visit(number: int) -> None:
            async with room:
                outcomes[number] = await clicked(Shopper(running), number)

        async with asyncio.timeout(300):
            await asyncio.gather(*map(visit, random.sample(numbers, clicks)))
        assert outcomes == {number: expected.get(number, "done") for number in numbers}
        for number, ended in outcomes.items():
            assert shop.cancelled[str(number)] in HAPPENED[ended], (number, ended)
        counts, in_doubt = Counter(outcomes.values()), done_in_doubt(shop, outcomes)
        assert sum(shop.cancelled.values()) == counts["done"] + in_doubt
        assert 0 < in_doubt < counts["unsure"]
        assert counts["failed"] == clicks / 10
        sent = [one.path for one in shop.requests if one.method == "POST"]
        assert len(sent) == len(set(sent)) == clicks


def done_in_doubt(shop: ToolShop, outcomes: dict[int, str]) -> int:
    """How many of the uncertain writes the shop has carried out."""
    return sum(shop.cancelled[str(n)] for n, ended in outcomes.items() if ended == "unsure")


async def clicked(visitor: Shopper[Any], number: int) -> str:
    """Get a card and click; the outcome, which is the same wherever the visitor looks."""
    await visitor.asks_to_cancel(number)
    if number % 7:
        answer = await visitor.click()
    else:
        both = await asyncio.gather(visitor.click(), visitor.click())
        assert both[0].text.strip() == both[1].text.strip()
        answer = both[0]
    assert answer.complete, answer.raw
    again = await visitor.click()
    assert (again.text.strip(), outcome(again)) == (answer.text.strip(), outcome(answer))
    *_, asked, told = await visitor.stored()
    assert (asked["status"], told["status"]) == ("ok", "ok")
    [step] = told["steps"]
    assert outcome(answer) == WRITTEN[step["state"]]
    return outcome(answer)
