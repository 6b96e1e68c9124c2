"""The DynamoDB units of a chat with the real service, as DynamoDB Local counts them."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.metering_front import Bill, MeteringFront
from tests.fakes.stage import Stage, stage
from tests.parts.fetch import folder_of
from tests.parts.plugin import CREDENTIALS, started_dynamodb_local

QUIET = 2.1
"""Seconds after which a view of the cooldowns is old, and a bucket of 30 a minute has drained."""
ATTEMPTS = 5
"""Measurements of a case, until no call took so long that it was sent again, and counted twice."""

PATIENCE = 10
"""Seconds for the store: a service on a busy machine must not give it up, or nothing is counted."""

USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
IP = {"ip_requests_per_minute": 30}
BUDGET = {**IP, "daily_tokens": 10_000_000}


@dataclass(frozen=True)
class Case:
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    chats: int = 1
    """One after another, after a pause."""
    failing: bool = False
    """Whether the first key tried answers 429."""
    visitors: bool = False
    """Whether each chat comes from an address of its own, as on a busy site."""


CASES = (
    Case("no limits, a quiet site"),
    Case("no limits, 10 in a row", chats=10),
    Case("limit by address (the default), a quiet site", IP),
    Case("limit by address, 10 in a row", IP, chats=10),
    Case("and a daily token budget, a quiet site", BUDGET),
    Case("and a daily token budget, 10 in a row", BUDGET, chats=10),
    Case("and a limit for the site", {**BUDGET, "site_requests_per_minute": 30}),
    Case(
        "and a limit for the site, 20 visitors in a row",
        {**BUDGET, "site_requests_per_minute": 300, "trusted_proxy_hops": 1},
        chats=20,
        visitors=True,
    ),
    Case("no limits, a key answers 429", failing=True),
)


async def count(case: Case, endpoint: str) -> Bill:
    """What the chats of a case cost, measured on a machine that may be busy."""
    for _ in range(ATTEMPTS):
        bill = await _count(case, endpoint)
        if not bill.late:
            return bill
    raise AssertionError(f"{case.name}: DynamoDB was too slow {ATTEMPTS} times")


async def _count(case: Case, endpoint: str) -> Bill:
    """What the chats of a case cost at a new table; what the service's start costs is left out."""
    table = await new_table(endpoint, lambda: 0.0, with_ttl=True)
    with MeteringFront(endpoint) as front:
        environment = {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": front.url}
        store = f"dynamodb://{table.table}"
        settings = {"store": store, "store_timeout": PATIENCE, **case.settings}
        with stage(2, environment=environment, **settings) as running:
            running.script(b.answer("Hello", usage=USAGE))
            await _ask(running)
            await asyncio.sleep(QUIET)
            if case.failing:
                running.script(b.status(429), b.answer("Hello", usage=USAGE))
            front.settle()
            for number in range(case.chats):
                await _ask(running, f"10.0.0.{number}" if case.visitors else "")
            bill = front.settle()
    await table.aclose()
    return bill


async def all_of(cases: Sequence[Case], endpoint: str) -> dict[str, Bill]:
    """The bills by name. The cases run concurrently, each with its own table."""
    bills = await asyncio.gather(*(count(case, endpoint) for case in cases))
    return {case.name: bill for case, bill in zip(cases, bills, strict=True)}


async def _ask(running: Stage, address: str = "") -> None:
    """One chat. Its response ends after its budget is settled, so no call is to come."""
    answer = await running.ask(headers={"X-Forwarded-For": address} if address else None)
    assert answer.complete, answer


def units() -> str:
    """The table as text, or the command that installs DynamoDB Local."""
    folder = folder_of("dynamodb-local")
    if folder is None:
        return "DynamoDB Local is not in .parts/. Try: make parts"
    lines = [f"{'a chat, in DynamoDB units':47}{'calls':>7}{'reads':>7}{'writes':>8}"]
    with (
        tempfile.TemporaryDirectory(prefix="kefu-bench-") as log,
        started_dynamodb_local(folder / "lib", Path(log)) as endpoint,
    ):
        os.environ.update(CREDENTIALS)
        bills = asyncio.run(all_of(CASES, endpoint))
        lines += [_line(case, bills[case.name]) for case in CASES]
    return "\n".join(lines)


def _line(case: Case, bill: Bill) -> str:
    calls = bill.calls.total() / case.chats
    reads, writes = bill.reads / case.chats, bill.writes / case.chats
    return f"{case.name:47}{calls:7.1f}{reads:7.2f}{writes:8.1f}"
