"""A10: a service that is stopped, and a store that is away, in the middle of a write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.asking import Answer
from tests.fakes.shopping import CHOOSING, orders, outcome
from tests.fakes.tool_shop import ToolShop
from tests.fakes.upstream import ScriptedUpstream
from tests.faults.test_tool_writes_killed import (
    NOT_KNOWN,
    Killed,
    Point,
    done_by_shop,
    killing,
    saved_only,
)

Prepare = Callable[[Point, str], AbstractAsyncContextManager[Killed]]


@pytest.fixture
def prepared(tmp_path: Path) -> Prepare:
    """A service whose visitor has a card, in SQLite or in a table at this address."""

    @asynccontextmanager
    async def prepare(point: Point, endpoint: str) -> AsyncIterator[Killed]:
        with ScriptedUpstream() as upstream, ToolShop() as shop:
            upstream.script("*", CHOOSING)
            shop.orders |= orders(range(11, 13))
            async with killing(point, upstream, shop, endpoint, tmp_path) as it:
                await it.visitor.asks_to_cancel(point.number)
                yield it

    return prepare


@pytest.mark.slow
async def test_a10_a_service_that_is_stopped_in_a_write_leaves_it_unsure(prepared: Prepare) -> None:
    """SIGTERM: the outcome is saved before the process ends."""
    async with prepared(Point("11", done_by_shop, "unsure", 1, ""), "") as it:
        await it.point.reach(it)
        assert await asyncio.to_thread(it.running.service.stop) == 0
        given = await it.clicked
        assert not given.complete or outcome(given) == "unsure"
        assert await it.state() == "unsure"
        it.running.service.restart()
        again = await it.visitor.click()
        assert (again.complete, outcome(again)) == (True, "unsure")
        assert "not certain" in again.text
        assert NOT_KNOWN not in again.text
        assert it.shop.cancelled["11"] == 1
        assert "✓ Cancel order" in await it.told("<and now>")


@pytest.mark.slow
async def test_a10_a_table_that_is_away_after_the_write_hides_no_outcome(
    prepared: Prepare, dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    async with prepared(Point("11", done_by_shop, "done", 1, ""), dynamodb_local) as it:
        assert it.to_store
        it.shop.delay = 0.5
        it.click()
        assert await it.upstream.until(lambda: it.shop.cancelled["11"] == 1)
        it.to_store.set(down=True)
        asked = asyncio.create_task(back_after(3, it))
        given = await it.clicked
        assert (given.complete, outcome(given)) == (True, "done")
        await asked

        async def saved() -> bool:
            return await it.state() == "done"

        await it.until(saved)
        again = await clicked_when_back(it)
        assert (again.text.strip(), outcome(again)) == (given.text.strip(), "done")
        assert it.shop.cancelled["11"] == 1


@pytest.mark.slow
async def test_a10_a_table_that_is_away_before_the_write_means_no_write(
    prepared: Prepare, dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """What cannot be saved is not sent. The next click is carried out."""
    async with prepared(Point("12", saved_only, "done", 1, ""), dynamodb_local) as it:
        assert it.to_store
        await it.point.reach(it)
        it.to_store.set(down=True)
        it.file("hold").unlink()
        given = await it.clicked
        assert not given.complete
        assert it.shop.cancelled["12"] == 0
        it.to_store.set()
        again = await clicked_when_back(it)
        assert (again.complete, outcome(again)) == (True, "done")
        assert it.shop.cancelled["12"] == 1


async def clicked_when_back(it: Killed) -> Answer:
    """Click until the service finds that its store is back."""
    end = time.monotonic() + 30
    while (answer := await it.visitor.click_until_answered()).status == 503:
        assert time.monotonic() < end
        await asyncio.sleep(0.5)
    return answer


async def back_after(seconds: float, it: Killed) -> None:
    await asyncio.sleep(seconds)
    assert it.to_store
    it.to_store.set()
