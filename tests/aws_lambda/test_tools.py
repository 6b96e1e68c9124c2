"""A21: tools in the built package, with the Web Adapter and DynamoDB Local: the deadline, instances
that are frozen or gone in the middle of a write, and clicks that reach another instance.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx
import pytest

from kefu.sessions.store.model import LEASE, Retention, SessionId
from kefu.stores.dynamodb.store import DynamoStore
from kefu.tools.use import stored_uses
from tests.aws_lambda.conftest import Deploy, Deployed
from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer
from tests.fakes.choosing import calling
from tests.fakes.lambda_instance import Instance
from tests.fakes.shopping import CHOOSING, Shopper, orders, outcome, settings_file
from tests.fakes.tool_shop import ToolShop

CANCEL = "/cancel"
"""A part of the path of a write."""


class Sold(NamedTuple):
    site: Deployed
    shop: ToolShop
    table: DynamoStore

    @property
    def instances(self) -> list[Instance]:
        return self.site.front.instances

    async def state(self, visitor: Shopper[Deployed]) -> str:
        """The stored state of the call that the visitor has approved."""
        return await approved_state(self.table, visitor)

    def kill_all(self) -> None:
        for instance in self.instances:
            if instance.alive:
                self.site.front.call(_killed(instance))


async def _killed(instance: Instance) -> None:
    instance.kill("no longer needed")


async def approved_state(table: DynamoStore, visitor: Shopper[Any]) -> str:
    store, session = table.sessions(Retention()), SessionId(visitor.session_id or "")
    kept = await store.messages(session, now=time.time())
    asked = [one for one in kept if one.client_message_id == visitor.card["id"]]
    return next((use.state for one in asked for use in stored_uses(one.steps)), "")


class Sell(Protocol):
    def __call__(
        self, *, timeout: float = 60, idempotent: bool = False
    ) -> AbstractAsyncContextManager[Sold]: ...


@pytest.fixture
def sell(
    deploy: Deploy, dynamodb_local: str, aws_environment: dict[str, str], tmp_path: Path
) -> Sell:
    """A function with tools that stores chats."""

    @asynccontextmanager
    async def sold(*, timeout: float = 60, idempotent: bool = False) -> AsyncIterator[Sold]:
        table = await new_table(dynamodb_local, time.time, with_ttl=True)
        with ToolShop() as shop:
            shop.orders |= orders(range(10, 20))
            site = deploy(
                store=f"dynamodb://{table.table}",
                sessions="true",
                config=settings_file(tmp_path, shop.url, idempotent=idempotent),
                timeout=timeout,
                freezing=True,
                environment={**aws_environment, "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local},
            )
            site.upstream.script("*", CHOOSING)
            yield Sold(site, shop, table)
            site.front.stop()
        await table.aclose()

    return sold


@contextlib.contextmanager
def frozen_now(instance: Instance) -> Iterator[None]:
    """Stop an instance that is at work, and let it go on afterwards."""
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for process in instance.processes:
            os.killpg(process.pid, number)
        if number == signal.SIGSTOP:
            try:
                yield
            except BaseException:
                instance.kill("the test failed")
                raise


@pytest.mark.slow
async def test_a21_a_click_reaches_another_instance_and_is_carried_out_once(sell: Sell) -> None:
    """Only the table knows of the card."""
    async with sell() as sold:
        visitor = Shopper(sold.site)
        await visitor.asks_to_cancel(10)
        sold.kill_all()
        answer = await visitor.click()
        assert (answer.complete, outcome(answer)) == (True, "done")
        sold.kill_all()
        again = await visitor.click()
        assert (again.text.strip(), outcome(again)) == (answer.text.strip(), "done")
        assert len(sold.instances) == 3
        assert sold.shop.cancelled["10"] == 1
        assert await sold.state(visitor) == "done"
        *_, asked, told = await visitor.stored()
        assert asked["content"] == f"✓ {visitor.card['text']}"
        assert told["steps"][0]["state"] == "output-available"
        declined = Shopper(sold.site)
        await declined.asks_to_cancel(11)
        assert (await declined.click(approved=False)).complete
        assert (await declined.click()).text == "All right, nothing was changed."
        assert sold.shop.cancelled["11"] == 0


@pytest.mark.slow
async def test_a21_a_slow_shop_leaves_time_for_the_last_answer(sell: Sell) -> None:
    """The model would call for ever, and each of its answers takes two seconds."""

    async def calls_again(exchange: b.Exchange) -> None:
        await asyncio.sleep(2)
        last = exchange.body.get("tool_choice") == "none"
        number = str(10 + len(exchange.body["messages"]) % 10)
        call = calling(("order_status", {"order_id": number}))
        await (b.answer("I cannot see it now.") if last else call)(exchange)

    async with sell(timeout=16) as sold:
        await sold.site.ask({"message": "hello"}, headers={})
        sold.site.upstream.script("*", calls_again, asking="<for ever>")
        sold.shop.fail_always("silent")
        began = time.monotonic()
        answer = await sold.site.ask({"message": "<for ever>", "steps": True}, headers={})
        assert (answer.complete, answer.text) == (True, "I cannot see it now.")
        assert time.monotonic() - began < 14
        calls = sold.site.upstream.calls("<for ever>")
        assert [one.body.get("tool_choice") for one in calls] == [None, "none"]
        assert "No result within" in calls[1].body["messages"][-1]["content"]
        assert [one.alive for one in sold.instances] == [True]


@pytest.mark.slow
async def test_a21_a_write_that_meets_the_deadline_is_unsure_and_told_in_time(sell: Sell) -> None:
    async with sell(timeout=16) as sold:
        visitor = Shopper(sold.site)
        await visitor.asks_to_cancel(10)
        sold.shop.fail("silent", path=CANCEL)
        answer = await visitor.click()
        assert (answer.complete, outcome(answer)) == (True, "unsure")
        assert answer.ended_at < 14
        assert await sold.state(visitor) == "unsure"
        assert (await visitor.click()).text.strip() == answer.text.strip()
        assert sold.shop.cancelled["10"] == 1
        assert [one.alive for one in sold.instances] == [True]


@pytest.mark.slow
async def test_a21_an_instance_that_is_frozen_in_a_write_knows_its_outcome_after_the_thaw(
    sell: Sell,
) -> None:
    async with sell() as sold:
        visitor = Shopper(sold.site)
        await visitor.asks_to_cancel(10)
        sold.shop.delay = 1.0
        clicking = asyncio.create_task(visitor.click())
        assert await sold.site.upstream.until(lambda: sold.shop.cancelled["10"] == 1)
        with frozen_now(sold.instances[0]):
            await asyncio.sleep(3)
            assert await sold.state(visitor) == "sending"
        answer = await clicking
        assert (answer.complete, outcome(answer)) == (True, "done")
        assert await sold.state(visitor) == "done"
        assert sold.shop.cancelled["10"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(("idempotent", "ended"), [(False, "unsure"), (True, "done")])
async def test_a21_a_new_instance_decides_for_a_frozen_one_and_the_thaw_changes_nothing(
    sell: Sell, idempotent: bool, ended: str
) -> None:
    """It is not known to the new one what the shop has done; with the same key it may ask again."""
    async with sell(idempotent=idempotent) as sold:
        visitor = Shopper(sold.site)
        await visitor.asks_to_cancel(10)
        sold.shop.delay = 0.5
        clicking = asyncio.create_task(visitor.click())
        assert await sold.site.upstream.until(lambda: sold.shop.cancelled["10"] == 1)
        with frozen_now(sold.instances[0]):
            busy = await visitor.click()
            assert (busy.status, busy.error["code"]) == (409, "session_busy")
            await asyncio.sleep(LEASE)
            answer = await visitor.click_until_answered()
            assert (answer.complete, outcome(answer)) == (True, ended)
            assert await sold.state(visitor) == ended
            assert len(sold.instances) == 2
        [old] = await asyncio.gather(clicking, return_exceptions=True)
        # On a busy machine the client waits too long, and gives up.
        assert isinstance(old, httpx.ReadTimeout) or (isinstance(old, Answer) and not old.complete)
        assert outcome(await visitor.click()) == ended
        assert await sold.state(visitor) == ended
        assert sold.shop.cancelled["10"] == 1
        keys = {one.headers["idempotency-key"] for one in sold.shop.requests if CANCEL in one.path}
        assert len(keys) == 1
        told = await visitor.say("<and now>")
        assert told.complete
