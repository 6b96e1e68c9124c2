"""Stored chats in a DynamoDB table, as a visitor sees them (P7, P35, P36, D5, D6, D8)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kefu.sessions.store.model import Retention, SessionId
from kefu.stores.dynamodb.store import DynamoStore
from tests.contract.engines import every_item, new_table
from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.fixtures import Staged
from tests.fakes.throttling_front import ThrottlingFront
from tests.faults.test_stores import eventually
from tests.parts.plugin import CREDENTIALS

REFUSED, AT_ONCE = 5.0, 0.9
"""Seconds: while a request waits one second for the table, and after three of them."""


class Site:
    def __init__(self, table: DynamoStore, proxy: FaultProxy) -> None:
        self.table = table
        self.proxy = proxy
        environment = {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": proxy.url}
        self.settings: dict[str, Any] = {
            "store": f"dynamodb://{table.table}",
            "sessions": True,
            "environment": environment,
        }

    async def items(self) -> list[dict[str, Any]]:
        return await self.table._table.run(
            lambda: every_item(self.table._table.client, self.table.table)
        )


@pytest.fixture
async def site(dynamodb_endpoint: str, aws_environment: dict[str, str]) -> AsyncIterator[Site]:
    table = await new_table(dynamodb_endpoint, time.time, with_ttl=False)
    with FaultProxy(dynamodb_endpoint) as proxy:
        yield Site(table, proxy)
    await table.aclose()


@pytest.mark.slow
async def test_a_chat_continues_on_another_instance_and_is_deleted_by_a_third(
    staged: Staged, site: Site
) -> None:
    """P35: each instance accepts the tokens of the others."""
    one = staged(1, **site.settings)
    two, three = (staged(1, upstream=one.upstream, **site.settings) for _ in range(2))
    one.script(b.answer("the first answer"), b.answer("the second answer"))
    visitor = Visitor(one)
    asked = new_id()
    assert (await visitor.say("first", client_message_id=asked)).complete
    visitor.stage = two
    assert (await visitor.say("second")).complete
    told = one.upstream.journal[-1].body["messages"]
    assert [message["content"] for message in told] == ["first", "the first answer", "second"]
    again = await visitor.say("first", client_message_id=asked)
    assert again.text == "the first answer"
    assert len(one.upstream.journal) == 2
    visitor.stage = three
    assert [content for _, content, _ in await visitor.shown()] == [
        "first",
        "the first answer",
        "second",
        "the second answer",
    ]
    assert str(visitor.session_id) in repr(await site.items())
    assert (await visitor.look("", "DELETE")).status_code == 204
    assert str(visitor.session_id) not in repr(await site.items())
    visitor.stage = one
    assert (await visitor.look()).status_code == 404


@pytest.mark.slow
async def test_d5_d8_without_its_table_a_kept_chat_is_refused_in_time_and_nothing_is_paid_for(
    staged: Staged, site: Site
) -> None:
    """Also for a table that answers after eight seconds: a request waits at most one second, and
    after three failures in a row none waits.
    """
    running = staged(1, **site.settings)
    visitor = Visitor(running)
    assert (await visitor.say("first")).complete
    faults: tuple[dict[str, Any], ...]
    faults = ({"black_hole": True}, {"latency": 8}, {"down": True}, {"latency": 8})
    for longest, fault in zip((REFUSED, REFUSED, REFUSED, AT_ONCE), faults, strict=True):
        site.proxy.set(**fault)
        answer = await visitor.say("lost")
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.head_at < longest
        assert len(running.upstream.journal) == 1
    unkept = await running.ask()
    assert unkept.complete, "a chat that is not kept goes on"
    assert unkept.head_at < AT_ONCE
    site.proxy.set()

    async def answered() -> bool:
        return (await visitor.say("back")).complete

    await eventually(answered)
    assert [content for _, content, _ in await visitor.shown()][-2] == "back"


async def test_h16_without_its_table_the_widget_may_ask_again_without_a_stored_chat(
    staged: Staged, site: Site
) -> None:
    """The first message of a chat and a later one. The widget then sends the conversation."""
    running = staged(1, **site.settings, sessions_without_store="answer")
    visitor = Visitor(running)
    assert (await visitor.say("first")).complete
    site.proxy.set(down=True)
    for new in (False, True):
        lost = await visitor.say("lost", new=new)
        assert (lost.status, lost.error["code"]) == (503, "store_failed")
        assert int(lost.headers["Retry-After"]) > 0
    first = await running.ask(conversation("lost", store=True, client_message_id=new_id()))
    assert (first.status, first.error["code"]) == (503, "store_failed")
    assert len(running.upstream.journal) == 1
    assert (await running.ask(conversation("first", "Hello.", "unkept"))).complete


@pytest.mark.parametrize("asked_again", [True, False])
@pytest.mark.parametrize("passing", [1, 3])
async def test_t29_a_deletion_that_the_table_refused_is_completed(
    staged: Staged, site: Site, dynamodb_endpoint: str, passing: int, asked_again: bool
) -> None:
    """The visitor's second attempt or the service itself completes it. Until then no attempt
    succeeds.
    """
    with ThrottlingFront(dynamodb_endpoint) as front:
        front.throttling = False
        address = {**site.settings["environment"], "AWS_ENDPOINT_URL_DYNAMODB": front.url}
        running = staged(1, **{**site.settings, "environment": address})
        visitor = Visitor(running)
        assert (await visitor.say("CANARY")).complete
        front.passing, front.throttling = passing, True
        refused = await visitor.look("", "DELETE")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        front.throttling = False

        async def gone() -> bool:
            return (await visitor.look()).status_code == 404

        async def deleted() -> bool:
            again = asked_again and (await visitor.look("", "DELETE")).status_code == 204
            return again or str(visitor.session_id) not in repr(await site.items())

        await eventually(gone)
        await eventually(deleted)
        assert str(visitor.session_id) not in repr(items := await site.items())
        assert "CANARY" not in repr(items)


@pytest.mark.slow
async def test_d6_an_answer_reaches_its_reader_and_then_the_table(
    staged: Staged, site: Site
) -> None:
    """The table fails while the answer streams, and works again a second later."""
    running = staged(1, **site.settings)
    running.script(b.answer("one ", "two ", "three", delay=1))
    visitor = Visitor(running)
    asking = asyncio.create_task(visitor.say("question"))
    await running.upstream.asked("question")
    site.proxy.set(down=True)
    answer = await asking
    assert answer.complete
    store = site.table.sessions(Retention())

    async def is_kept() -> bool:
        kept = await store.messages(SessionId(str(visitor.session_id)), now=time.time())
        return [(m.content, m.status) for m in kept] == [
            ("question", "ok"),
            ("one two three", "ok"),
        ]

    assert not await is_kept()
    site.proxy.set()
    await eventually(is_kept)
