"""A21: tools with buffered responses: Mangum in AWS's Runtime Interface Emulator, DynamoDB Local.

The emulator passes one event after the other to the only instance, each with its deadline.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from kefu.stores.dynamodb.store import DynamoStore
from tests.aws_lambda.test_buffered import ORIGIN, event, invoke, listening, rie
from tests.aws_lambda.test_tools import approved_state
from tests.contract.engines import new_table
from tests.fakes.asking import Answer
from tests.fakes.lambda_function import LambdaFunction
from tests.fakes.shopping import CHOOSING, Shopper, orders, outcome, settings_file
from tests.fakes.tool_shop import ToolShop
from tests.fakes.upstream import ScriptedUpstream
from tests.parts.plugin import free_port

__all__ = ["rie"]

pytestmark = pytest.mark.slow

TIMEOUT = 16


class Buffered:
    """The function as a `chatting.Site`: what it answers is read as if it had been streamed."""

    def __init__(self, url: str, shop: ToolShop, table: DynamoStore) -> None:
        self.url = url
        self.shop = shop
        self.table = table
        self.process = 0

    async def ask(self, body: Any, *, headers: Mapping[str, str]) -> Answer:
        sent = event("http-kept-chat")
        sent["body"] = json.dumps(body)
        sent["headers"] |= {name.lower(): value for name, value in headers.items()}
        began = time.monotonic()
        got = await invoke(self.url, sent)
        raw = got["body"].encode()
        answer = Answer(got["statusCode"], httpx.Headers(got["headers"]), 0.0, raw)
        lines = [line for line in raw.decode().split("\n") if line.startswith("data: ")]
        answer.ended_at = time.monotonic() - began
        answer.events = [(answer.ended_at, line[6:]) for line in lines]
        return answer


@pytest.fixture
async def site(
    rie: Path,
    package: Path,
    python: str,
    dynamodb_local: str,
    aws_environment: dict[str, str],
    tmp_path: Path,
) -> AsyncIterator[Buffered]:
    table = await new_table(dynamodb_local, time.time, with_ttl=True)
    with ToolShop() as shop, ScriptedUpstream() as upstream:
        upstream.script("*", CHOOSING)
        shop.orders |= orders(range(10, 20))
        function = LambdaFunction(
            package,
            python,
            tmp_path / "function",
            upstream=upstream.base_url,
            allowed_origins=ORIGIN,
            config=settings_file(tmp_path, shop.url),
            store=f"dynamodb://{table.table}",
            sessions="true",
            environment={
                **aws_environment,
                "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local,
                "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
                "AWS_LAMBDA_FUNCTION_TIMEOUT": str(TIMEOUT),
                "PYTHONPATH": f"{rie / 'python'}:{package}",
            },
        )
        address = f"127.0.0.1:{free_port()}"
        options = ["--runtime-interface-emulator-address", address]
        options += ["--runtime-api-address", f"127.0.0.1:{free_port()}"]
        command = [str(function.folder / "bin/python3"), "-m", "awslambdaric"]
        process = function.start(
            rie / "aws-lambda-rie", *options, *command, "kefu.lambda_handler.handler"
        )
        try:
            listening(address, process)
            url = f"http://{address}/2015-03-31/functions/function/invocations"
            made = Buffered(url, shop, table)
            made.process = process.pid
            # The emulator counts the start of the process to the first invocation's time.
            assert (await Shopper(made).say("hello")).complete
            yield made
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    await table.aclose()


async def test_a21_a_click_is_carried_out_once(site: Buffered) -> None:
    visitor = Shopper(site)
    await visitor.asks_to_cancel(10)
    answer = await visitor.click()
    assert (answer.complete, outcome(answer)) == (True, "done")
    again = await visitor.click()
    assert (again.text.strip(), outcome(again)) == (answer.text.strip(), "done")
    assert site.shop.cancelled["10"] == 1
    assert await approved_state(site.table, visitor) == "done"


async def test_a21_a_silent_shop_leaves_time_for_the_last_answer(site: Buffered) -> None:
    """Of a read, and of a write, whose outcome is told, and stored."""
    visitor = Shopper(site)
    await visitor.asks_to_cancel(10)
    site.shop.fail_always("silent")
    answer = await visitor.click()
    assert (answer.complete, outcome(answer)) == (True, "unsure")
    assert answer.ended_at < TIMEOUT - 2
    assert await approved_state(site.table, visitor) == "unsure"
    read = await visitor.say("Where is order 11?", steps=True)
    assert read.complete
    assert "No result within" in read.text
    assert read.ended_at < TIMEOUT - 2
    assert site.shop.cancelled["10"] == 1


async def test_a21_a_process_that_is_frozen_in_a_write_knows_its_outcome_after_the_thaw(
    site: Buffered,
) -> None:
    visitor = Shopper(site)
    await visitor.asks_to_cancel(10)
    site.shop.delay = 1.0
    clicking = asyncio.create_task(visitor.click())
    end = time.monotonic() + 20
    while not site.shop.cancelled["10"]:
        assert time.monotonic() < end
        await asyncio.sleep(0.02)
    with stopped(site.process):
        await asyncio.sleep(3)
        assert await approved_state(site.table, visitor) == "sending"
    answer = await clicking
    assert (answer.complete, outcome(answer)) == (True, "done")
    assert await approved_state(site.table, visitor) == "done"
    assert site.shop.cancelled["10"] == 1


@contextmanager
def stopped(emulator: int) -> Iterator[None]:
    """The function's process, which the emulator has started, stands still (Linux)."""
    lists = Path(f"/proc/{emulator}/task").glob("*/children")  # any thread may have started it
    [function] = [int(number) for one in lists for number in one.read_text().split()]
    os.kill(function, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(function, signal.SIGCONT)
