"""A service that is killed at any request to the table of an earlier version loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.fakes.fixtures import Staged
from tests.fakes.throttling_front import ThrottlingFront
from tests.fixtures.earlier import VERSIONS, facts, is_in
from tests.fixtures.reopened import Earlier, in_table, table_of
from tests.parts.plugin import each


class KillingFront(ThrottlingFront):
    """Lets so many requests to the table through, and kills the service before it can answer more.

    The last request was carried out, but its response does not arrive.
    """

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.throttling = False
        self.left = -1
        self.kill: Callable[[], object] = lambda: None

    def forward(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        if len(body) < int(headers["Content-Length"]):
            raise ConnectionError("the killed service had sent a part of it; dynalite would crash")
        answer = super().forward(body, headers)
        self.left -= 1
        if self.left == 0:
            self.kill()
        return answer


async def use(earlier: Earlier) -> None:
    """Look at all chats, and go on with each, until the service is gone."""
    earlier.listed()
    for name, kept in earlier.facts["chats"].items():
        visitor = earlier.visitor(kept)
        await visitor.look("/messages")
        await visitor.say(f"And now, {name}?", client_message_id=f"now-of-{name}")


async def check(earlier: Earlier) -> None:
    """All messages are there. After them there may be the question that the kill interrupted."""
    for name, kept in earlier.facts["chats"].items():
        shown: list[Any] = (await earlier.visitor(kept).look("/messages?limit=100")).json()[
            "messages"
        ]
        count = len(kept["messages"])
        assert is_in(kept["messages"], shown[:count]), name
        assert [one["content"] for one in shown[count:]] in (
            [],
            [f"And now, {name}?"],
            [f"And now, {name}?", "Hello from the model."],
        )
        seen = earlier.operator(f"/sessions/{kept['id']}")
        assert is_in(kept["operator"]["calls"], seen["calls"][: len(kept["operator"]["calls"])])
    contacts = earlier.operator("/contacts")["requests"]
    assert is_in(earlier.facts["contacts"], contacts)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("engine", each("dynamodb_local", "dynalite"))
@pytest.mark.parametrize("requests", [4, 13, 19, 26, 35, 50])
async def test_service_killed_at_a_request_to_an_earlier_table_loses_nothing(
    request: pytest.FixtureRequest,
    staged: Staged,
    aws_environment: dict[str, str],
    version: str,
    engine: str,
    requests: int,
) -> None:
    """After that each chat goes on."""
    endpoint = request.getfixturevalue(engine)
    table = await table_of(version, endpoint)
    with KillingFront(endpoint) as front:
        running = staged(1, **in_table(table, front.url))
        earlier = Earlier(running, facts(version, "table"))
        front.kill, front.left = running.service.process.kill, requests
        with pytest.raises((httpx.TransportError, AssertionError)):
            await use(earlier)
        await asyncio.to_thread(running.service.process.wait, 60)
        await asyncio.to_thread(running.service.restart)
        await check(earlier)
        await use(earlier)
        await check(earlier)
    await table.aclose()
