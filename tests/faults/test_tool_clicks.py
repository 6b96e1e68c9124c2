"""A10: clicks that compete, in two processes that answer from one store."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.contract.engines import new_table
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer
from tests.fakes.chatting import new_id
from tests.fakes.shopping import CHOOSING, Shopper, orders, outcome, settings_file
from tests.fakes.stage import UNHURRIED, Stage, stage
from tests.fakes.tool_shop import ToolShop
from tests.fakes.upstream import ScriptedUpstream
from tests.parts.plugin import CREDENTIALS, slow

ROUNDS = range(100, 120)


class Pair(NamedTuple):
    """Two processes of one site."""

    stages: Sequence[Stage]
    upstream: ScriptedUpstream
    shop: ToolShop

    async def with_cards(self) -> list[tuple[Shopper, Shopper]]:
        """For each order a visitor with a card, who has the chat open in two tabs: each tab reaches
        another process.
        """
        found = []
        for number in ROUNDS:
            here, there = (Shopper(one) for one in self.stages)
            await here.asks_to_cancel(number)
            there.session_id, there.token, there.card = here.session_id, here.token, here.card
            found.append((here, there))
        return found


@pytest.fixture(params=["sqlite", slow("postgresql"), slow("dynamodb_local")])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        upstream = stack.enter_context(ScriptedUpstream())
        upstream.script("*", CHOOSING)
        shop = stack.enter_context(ToolShop())
        shop.orders |= orders(ROUNDS)
        given: dict[str, Any] = {**UNHURRIED, "config": settings_file(tmp_path, shop.url)}
        if request.param == "sqlite":
            given["store"] = f"sqlite:///{tmp_path / 'chats.sqlite3'}"
        elif request.param == "postgresql":
            given["store"] = request.getfixturevalue(request.param).new_schema()
        else:
            endpoint = request.getfixturevalue(request.param)
            request.getfixturevalue("aws_environment")
            table = await new_table(endpoint, time.time, with_ttl=True)
            stack.push_async_callback(table.aclose)
            given["store"] = f"dynamodb://{table.table}"
            given["environment"] = {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": endpoint}
        stages = [stack.enter_context(stage(1, upstream=upstream, **given)) for _ in range(2)]
        yield Pair(stages, upstream, shop)


@pytest.mark.slow
async def test_a10_two_clicks_at_once_in_two_processes_are_one_write(pair: Pair) -> None:
    pair.shop.delay = 0.2
    cards = await pair.with_cards()
    tabs = [tab for both in cards for tab in both]
    answers = await asyncio.gather(*(tab.click() for tab in tabs))
    for number, here, there in zip(ROUNDS, answers[::2], answers[1::2], strict=True):
        assert pair.shop.cancelled[str(number)] == 1
        assert [one.complete for one in (here, there)].count(True) in (1, 2)
        for answer in (here, there):
            if answer.complete:
                assert outcome(answer) == "done"
            else:
                assert (answer.status, answer.error["code"]) == (409, "session_busy")
    again = await asyncio.gather(*(tab.click() for tab in tabs))
    assert [outcome(one) for one in again] == ["done"] * len(tabs)
    assert sum(pair.shop.cancelled.values()) == len(ROUNDS)


@pytest.mark.slow
async def test_a10_of_yes_and_no_at_once_the_first_decides_for_both(pair: Pair) -> None:
    cards = await pair.with_cards()
    both = [(here.click(), there.click(approved=False)) for here, there in cards]
    await asyncio.gather(*(click for clicks in both for click in clicks))
    for number, (here, there) in zip(ROUNDS, cards, strict=True):
        yes, no = await here.click_until_answered(), await there.click(approved=False)
        assert yes.text.strip() == no.text.strip()
        was_no = yes.text.strip() == "All right, nothing was changed."
        assert pair.shop.cancelled[str(number)] == (0 if was_no else 1)


@pytest.mark.slow
async def test_a10_of_a_click_and_a_message_at_once_the_first_one_counts(pair: Pair) -> None:
    """Either the call is carried out, or the visitor reads why it is not."""
    cards = await pair.with_cards()
    pauses = [-1.0, *(0.004 * number for number in range(len(ROUNDS) - 2)), 1.0]
    """Seconds by which the message comes after the click."""

    async def after(seconds: float, work: Coroutine[Any, Any, Answer]) -> Answer:
        await asyncio.sleep(max(0.0, seconds))
        return await work

    said, clicked = [], []
    for (here, there), pause in zip(cards, pauses, strict=True):
        both = await asyncio.gather(after(pause, there.say("hello")), after(-pause, here.click()))
        said.append(both[0])
        clicked.append(both[1])
    assert all(one.complete for one in said)
    for number, answer, (here, _) in zip(ROUNDS, clicked, cards, strict=True):
        if answer.complete:
            assert (outcome(answer), pair.shop.cancelled[str(number)]) == ("done", 1)
            continue
        assert (answer.status, answer.error["code"]) == (409, "approval_gone")
        assert (await here.click()).status == 409
        assert pair.shop.cancelled[str(number)] == 0
        await here.say(f"<later {number}>")
        [call] = pair.upstream.calls(f"<later {number}>")
        assert "state" not in str([m for m in call.body["messages"] if m["role"] == "tool"])
    assert 0 < anything_done(pair) == sum(one.complete for one in clicked) < len(ROUNDS)


def anything_done(pair: Pair) -> int:
    return sum(pair.shop.cancelled.values())


@pytest.mark.slow
async def test_a10_a_click_while_a_later_message_is_answered_is_refused_in_words(
    pair: Pair,
) -> None:
    [(here, there), *_] = await pair.with_cards()
    refused_both = threading.Event()

    async def held(exchange: b.Exchange) -> None:
        while not refused_both.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.01)
        await b.answer("slow ", "but ", "whole")(exchange)

    pair.upstream.script("*", held, asking="<slow>")
    asked = asyncio.create_task(there.say("<slow>", client_message_id=new_id()))
    await pair.upstream.asked("<slow>")
    for tab in (here, there):
        refused = await tab.click()
        assert (refused.status, refused.error["code"]) == (409, "approval_gone")
        assert "another message" in refused.error["message"]
    assert not asked.done()
    refused_both.set()
    assert (await asked).text == "slow but whole"
    assert anything_done(pair) == 0


async def test_a10_forged_and_typed_approvals_change_nothing(pair: Pair) -> None:
    """Of another chat, another turn, another call; as text, and as the id of a text."""
    (here, other), (second, _), *_ = await pair.with_cards()
    card = here.card["id"]
    digest = card.rpartition("-")[2]
    forged = (
        second.card["id"],
        f"approval-3-{digest}",
        f"approval-1-{digest[::-1]}",
        f"approval-01-{digest}x",
        f"approval--1-{digest}",
        f"approval-{10**18}-{digest}",
    )
    for id in forged:
        refused = await other.click(card=id)
        assert (refused.status, refused.error["code"]) == (409, "approval_gone"), id
    typed = await here.say(f"✓ {here.card['text']}", client_message_id=card)
    assert (typed.status, typed.error["code"]) == (400, "invalid_request")
    assert (await here.say(f"✓ {here.card['text']}", client_message_id=new_id())).complete
    assert (await here.click()).error["code"] == "approval_gone"
    assert anything_done(pair) == 0
