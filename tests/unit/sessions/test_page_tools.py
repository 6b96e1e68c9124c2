"""W23: a tool that the visitor's page carries out, after the visitor's click."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kefu.sessions.turn.tools import Click
from kefu.tools.page import described, not_run
from kefu.tools.tool import Outcome, Tool
from kefu.tools.toolbox import Toolbox
from kefu.tools.use import stored_uses
from tests.fakes.in_process import Answer
from tests.fakes.in_process_upstream import Reply, answer
from tests.fakes.kept_site import Site
from tests.fakes.recorded_tool import box, calling, card_in, write
from tests.fakes.relaying import CLOCK, in_virtual_time

ADD = Tool("add_to_cart", "", {}, not_run, effect="write", idempotent=True)
"""The tool of the settings."""
SIZE = {"size": {"type": "string", "enum": ["S", "M", "L"]}}
GIVEN = described(ADD, "Put the shown shirt into the cart.", SIZE, (), "Add size {size}?")
"""The same, as the page describes it."""
CALL = calling(("add_to_cart", '{"size": "M"}'))


class Shop(Site):
    """A site whose page has a cart."""

    def __init__(self, *replies: Reply, named: tuple[Tool, ...] = (ADD,)) -> None:
        toolbox = Toolbox((), of_pages={one.name: one for one in named})
        super().__init__(*replies, toolbox=toolbox)

    async def wants(self) -> dict[str, Any]:
        asked = await self.ask("a shirt in M", id="message-one", page_tools=(GIVEN,))
        return card_in(asked.events)

    async def click(self, card: dict[str, Any], result: Outcome | None = None) -> Answer:
        click = Click(card["id"], approved=True, result=result)
        twice = {"replaces": True, "attempt": "result"} if result else {}
        return await self.ask("", id=card["id"], click=click, page_tools=(GIVEN,), **twice)

    async def last_use(self) -> tuple[str, str]:
        *_, last = await self.store.messages(self.store.chat, now=CLOCK.now())
        [use] = stored_uses(last.steps)
        return use.state, use.result


def for_page(given: Answer) -> list[dict[str, Any]]:
    """The arguments of the calls that the page is to carry out."""
    steps = [one["step"] for one in given.events if one.get("object") == "kefu.step"]
    return [one["arguments"] for one in steps if "arguments" in one]


@in_virtual_time
async def test_w23_the_page_gets_an_approved_call_and_its_result_is_a_step() -> None:
    site = Shop(CALL, answer("It is in your cart."))
    card = await site.wants()
    assert card["text"] == "Add size \u2068M\u2069?"
    given = await site.click(card)
    assert for_page(given) == [{"size": "M"}]
    assert site.asked == 1, "the model hears of it with the result"
    assert await site.last_use() == ("unsure", "It is not known whether this was carried out.")
    done = await site.click(card, Outcome('{"items": 1}'))
    assert (done.complete, done.text) == (True, "It is in your cart.")
    assert await site.last_use() == ("done", '{"items": 1}')
    [result] = [one for one in prompt(site) if one["role"] == "tool" and "items" in one["content"]]
    assert result["content"] == '{"items": 1}'


def prompt(site: Site) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = json.loads(site.model.exchanges[-1].body)["messages"]
    return messages


@in_virtual_time
async def test_w23_one_of_many_clicks_gets_the_call() -> None:
    site = Shop(CALL, answer("It is in your cart."))
    card = await site.wants()
    first, *others = await asyncio.gather(*(site.click(card) for _ in range(3)))
    later = await site.click(card)
    assert [for_page(one) for one in (first, *others, later)].count([{"size": "M"}]) == 1


@in_virtual_time
async def test_w23_the_first_result_counts() -> None:
    site = Shop(CALL, answer("It is in your cart."), answer("never asked"))
    card = await site.wants()
    await site.click(card)
    first = await site.click(card, Outcome("one"))
    again = await site.click(card, Outcome("two"))
    assert (again.text, site.asked) == (first.text, 2)
    assert await site.last_use() == ("done", "one")


@in_virtual_time
async def test_w23_a_page_that_was_left_has_an_unsure_result() -> None:
    site = Shop(CALL, answer("I am not sure."))
    card = await site.wants()
    await site.click(card)
    await site.click(card, Outcome("The page was left.", "unsure"))
    assert await site.last_use() == ("unsure", "The page was left.")


@in_virtual_time
async def test_w23_a_result_for_a_tool_of_the_shop_is_refused_and_sends_nothing() -> None:
    cancel = write()
    call = calling(("cancel_order", '{"order_id": "5"}'))
    site = Site(call, answer("It is cancelled."), toolbox=box(cancel))
    card = card_in((await site.ask("cancel order 5", id="message-one")).events)
    for forged in (Outcome("done!"), None, Outcome("done!")):
        click = Click(card["id"], approved=True, result=forged)
        twice = {"replaces": True, "attempt": "result"} if forged else {}
        given = await site.ask("", id=card["id"], click=click, **twice)
        assert given.status == (400 if forged else 200)
    assert len(cancel.calls) == 1


@in_virtual_time
async def test_w23_a_tool_that_the_settings_do_not_name_is_not_offered() -> None:
    site = Shop(answer("Hello."))
    await site.ask("hello", id="message-one")
    assert "tools" not in json.loads(site.model.exchanges[-1].body)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"note": {"type": "string"}}, "note is free text"),
        ({"size": {"type": "string", "format": "uri", "enum": ["S"]}}, "size: format of JSON"),
    ],
)
def test_w23_what_a_card_cannot_show_is_refused(
    parameters: dict[str, dict[str, object]], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        described(ADD, "Add it.", parameters, (), "Add it?")


def test_w23_the_question_of_the_settings_wins() -> None:
    own = ADD._replace(approve={"": "Into the cart: {size}?"})
    assert described(own, "Add it.", SIZE, (), "Add?").approve == {"": "Into the cart: {size}?"}
