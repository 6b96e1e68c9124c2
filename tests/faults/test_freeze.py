"""L4: the process is frozen between two requests, as on Lambda, and continues with the next one."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.fixtures import Staged
from tests.fakes.stage import UNHURRIED, Stage
from tests.parts.plugin import CREDENTIALS, slow


async def test_l4_connections_that_died_while_frozen_are_replaced_and_no_key_rests(
    staged: Staged,
) -> None:
    running = staged(1, **UNHURRIED)
    running.script(b.answer("warm"), asking="<warm>")
    running.script(b.answer("thawed"), asking="<next>")
    pair = await asyncio.gather(running.ask("<warm> 1"), running.ask("<warm> 2"))
    assert all(answer.complete for answer in pair)
    opened = running.upstream.connections

    running.service.process.send_signal(signal.SIGSTOP)
    running.upstream.close_idle()
    asked = asyncio.create_task(running.ask("<next>"))
    await asyncio.sleep(1)
    running.service.process.send_signal(signal.SIGCONT)

    answer = await asked
    assert answer.complete
    assert answer.text == "thawed"
    assert len(running.upstream.calls("<next>")) == 1
    assert running.upstream.connections == opened + 1
    assert await running.upstream.until(lambda: len(_chats(running)) == 3)
    line = _chats(running)[-1]
    assert line["attempts"] == 1
    assert line["keys"][0].endswith(":ok")
    # There is one key: during a cooldown this request would fail.
    assert (await running.ask("<next> again")).complete


async def test_l4_freezing_changes_nothing_when_the_connections_survive(staged: Staged) -> None:
    running = staged(1, **UNHURRIED)
    running.script(b.answer("hi"))
    assert (await running.ask("<first>")).complete
    opened = running.upstream.connections
    running.service.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(0.5)
    running.service.process.send_signal(signal.SIGCONT)
    assert (await running.ask("<second>")).complete
    assert running.upstream.connections == opened


@pytest.mark.parametrize("start", [slow("on-demand"), "snap-start"])
async def test_l4_no_connection_to_the_store_goes_into_a_snapshot(
    staged: Staged, dynamodb_endpoint: str, aws_environment: dict[str, str], start: str
) -> None:
    """SnapStart copies the process when it is ready. Without SnapStart the connection stays
    open.
    """
    table = await new_table(dynamodb_endpoint, time.time, with_ttl=False)
    with FaultProxy(dynamodb_endpoint) as proxy:
        environment = {
            **CREDENTIALS,
            "AWS_ENDPOINT_URL_DYNAMODB": proxy.url,
            "AWS_LAMBDA_INITIALIZATION_TYPE": start,
        }
        store = f"dynamodb://{table.table}"
        running = staged(1, store=store, environment=environment, **UNHURRIED)
        running.script(b.answer("hi"))
        # In both cases the start has loaded boto3 and connected to the table.
        assert await running.upstream.until(lambda: proxy.connections == 1)
        left = 0 if start == "snap-start" else 1
        assert await running.upstream.until(lambda: _connected_to(proxy.port) == left)
        assert (await running.ask()).complete
        assert "degraded" not in running.service.stderr
    await table.aclose()


def _chats(running: Stage) -> list[dict[str, Any]]:
    """The log lines of answered questions."""
    return [line for line in running.service.logs() if line.get("path") == "/api/chat"]


def _connected_to(port: int) -> int:
    """The number of established connections to a port of this machine (Linux)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2].endswith(f":{port:04X}") and row[3] == "01" for row in rows)
