"""Stored chats and the panel in the built package, with the Web Adapter and DynamoDB Local.

The settings are `[sessions]` and `AdminTokenFrom` (P35, T20; rows L1 and L4).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest

from kefu.sessions.store.model import Retention, SessionId
from kefu.stores.dynamodb.store import DynamoStore
from tests.aws_lambda.conftest import Deploy, Deployed, frozen
from tests.contract.engines import every_item, new_table
from tests.fakes import behaviours as b
from tests.fakes.asking import client, get
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.metering_front import MeteringFront
from tests.fakes.stage import ORIGIN

pytestmark = pytest.mark.slow

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
OPERATOR = {"authorization": "Bearer " + "kept-elsewhere-" * 3}


@dataclass(frozen=True)
class Kept:
    site: Deployed
    front: MeteringFront
    table: DynamoStore


class Keep(Protocol):
    def __call__(
        self, *, timeout: float = 30, **settings: Any
    ) -> AbstractAsyncContextManager[Kept]: ...


@pytest.fixture
def keep(deploy: Deploy, dynamodb_local: str, aws_environment: dict[str, str]) -> Keep:
    """A function that stores chats, and that is frozen between two requests."""

    @asynccontextmanager
    async def kept(*, timeout: float = 30, **settings: Any) -> AsyncIterator[Kept]:
        table = await new_table(dynamodb_local, time.time, with_ttl=True)
        with (
            MeteringFront(dynamodb_local) as front,
            AwsKeys(OPERATOR["authorization"].removeprefix("Bearer ")) as aws,
        ):
            site = deploy(
                store=f"dynamodb://{table.table}",
                sessions="true",
                capture="all",
                timeout=timeout,
                freezing=True,
                environment={
                    **aws.environment,
                    "ADMIN_TOKEN": "ssm:/kefu/admin-token",
                    "AWS_ENDPOINT_URL_DYNAMODB": front.url,
                },
                **settings,
            )
            yield Kept(site, front, table)
            site.front.stop()
        await table.aclose()

    return kept


async def test_p35_a_chat_goes_on_with_another_instance_and_its_operator_sees_it(
    keep: Keep,
) -> None:
    """The calls of the table are those that the template's role allows."""
    async with keep() as kept:
        site, visitor = kept.site, Visitor(kept.site)
        site.upstream.script("*", b.answer("the first ", "answer"), b.answer("the second answer"))
        first = await visitor.say("first", client_message_id=new_id())
        assert first.complete
        assert "X-Session-Token" in first.headers["access-control-expose-headers"]
        # The instance stays frozen after the answer, so only the table has the data.
        site.front.instances[0].kill("no longer needed")
        assert (await visitor.say("second")).complete
        assert len(site.front.instances) == 2
        said = ["first", "the first answer", "second"]
        told = site.upstream.journal[-1].body["messages"]
        assert [message["content"] for message in told] == said
        assert [text for _, text, _ in await visitor.shown()] == [*said, "the second answer"]
        await _operator_sees(site, str(visitor.session_id))
        await _page_may_delete(site)
        assert (await visitor.look("", "DELETE")).status_code == 204
        assert (await visitor.look()).status_code == 404
        used = {f"dynamodb:{operation}" for operation in kept.front.bill.calls}
        allowed = re.findall(r"\bdynamodb:[A-Z]\w+", TEMPLATE.read_text(encoding="utf-8"))
        assert used == set(allowed)


async def _operator_sees(site: Deployed, session: str) -> None:
    assert "admin/panel." in (await get(site.url, "/admin")).text
    api = "/admin/api/sessions"
    assert (await get(site.url, api)).status_code == 401
    rows = (await get(site.url, api, **OPERATOR)).json()["rows"]
    assert [row["id"] for row in rows] == [session]
    found = (await get(site.url, f"{api}/{session}", **OPERATOR)).json()
    assert len(found["calls"]) == 2
    assert "the first answer" in str(found["calls"][1])


async def _page_may_delete(site: Deployed) -> None:
    """C18: the preflight of a browser."""
    asked = {"access_control_request_method": "DELETE"}
    preflight = await get(site.url, "/api/sessions/x", method="OPTIONS", origin=ORIGIN, **asked)
    assert preflight.status_code == 204
    assert "DELETE" in preflight.headers["access-control-allow-methods"]
    assert "*" in preflight.headers["access-control-allow-headers"]


async def test_l1_what_was_said_before_the_deadline_is_kept_as_partial(keep: Keep) -> None:
    """It is written before the function returns and is frozen."""
    async with keep(timeout=5) as kept:
        visitor = Visitor(kept.site)
        kept.site.upstream.script("*", b.drip(100, delay=0.1))
        answer = await visitor.say("long")
        assert answer.error["code"] == "gateway_timeout"
        kept.site.front.instances[0].kill("no longer needed")
        written = await kept.table.sessions(Retention()).messages(
            SessionId(str(visitor.session_id)), now=time.time()
        )
        assert [(one.role, one.content, one.status) for one in written] == [
            ("user", "long", "partial"),
            ("assistant", answer.text.strip(), "partial"),
        ]


async def test_l1_page_that_was_left_shows_the_stored_answer_as_soon_as_it_is_there(
    keep: Keep,
) -> None:
    """Each request reaches another instance, and none of them stops the answer."""
    async with keep() as kept:
        visitor, mine = Visitor(kept.site), new_id()
        await visitor.say("hello")
        kept.site.upstream.script("*", b.answer("slow ", "but ", "whole", delay=1.5))
        asking = asyncio.create_task(visitor.say("<slow>", client_message_id=mine))
        await kept.site.upstream.asked("<slow>")
        asking.cancel()
        body = {"client_message_id": mine}

        async def taken_up() -> httpx.Response:
            async with client() as browser:
                url = f"{kept.site.url}/api/sessions/{visitor.session_id}/answer"
                return await browser.post(url, json=body, headers=visitor.headers)

        answer = waited = await taken_up()
        assert (waited.status_code, waited.json()["error"]["code"]) == (409, "session_busy")
        for _ in range(200):
            if answer.status_code != 409:
                break
            await asyncio.sleep(0.2)
            answer = await taken_up()
        assert "slow but whole" in answer.text
        assert answer.text.endswith("data: [DONE]\n\n")
        assert len(kept.site.upstream.calls("<slow>")) == 1


async def test_l4_what_an_answer_took_is_settled_and_logged_before_the_freeze(keep: Keep) -> None:
    """Lambda freezes an instance as soon as its answer has ended, so this happens before
    the end.
    """
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    async with keep(daily_tokens=100_000) as kept:
        kept.site.upstream.script("*", b.answer("hi", usage=usage))
        answer = await kept.site.ask("<one>", headers={})
        assert answer.complete
        [instance] = kept.site.front.instances
        server = instance.processes[1].pid
        assert await kept.site.upstream.until(lambda: frozen(server))
        table = kept.table._table
        items = await table.run(lambda: every_item(table.client, table.name))
        [budget] = [item for item in items if item["pk"]["S"].startswith("budget#")]
        assert budget["used"] == {"N": "7"}
        [line] = kept.site.function.requests()
        assert (line["code"], line["tokens"]) == ("ok", 7)


async def test_d6_answer_that_a_slow_table_took_late_is_saved_before_the_freeze(keep: Keep) -> None:
    """The visitor does not wait: `[DONE]` is sent in time, and the response ends later."""
    async with keep() as kept:
        visitor = Visitor(kept.site)
        kept.site.upstream.script("*", b.answer("a", "b", delay=0.3))
        asked = asyncio.create_task(visitor.say("<slow>"))
        await kept.site.upstream.asked("<slow>", timeout=15)
        kept.front.throttling = True
        await asyncio.sleep(2.5)
        kept.front.throttling = False
        answer = await asked
        assert answer.complete
        assert answer.ended_at - answer.events[-1][0] > 0.5
        kept.site.front.instances[0].kill("no longer needed")
        written = await kept.table.sessions(Retention()).messages(
            SessionId(str(visitor.session_id)), now=time.time()
        )
        assert [(one.content, one.status) for one in written] == [("<slow>", "ok"), ("ab", "ok")]
