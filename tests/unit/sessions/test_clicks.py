"""A9, A10: a click on a card is a message of the chat whose call happens once, in virtual time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kefu.sessions.store.attendance import Attendance
from kefu.sessions.turn.tools import Click
from kefu.tools.tool import Outcome
from kefu.tools.use import Use, stored_uses
from tests.fakes.in_process import Answer
from tests.fakes.in_process_upstream import DONE, LOST, STOP, STREAM, Reply, answer, refusal, text
from tests.fakes.kept_site import Site
from tests.fakes.recorded_tool import (
    RecordedTool,
    box,
    calling,
    card_in,
    order,
    read,
    steps_in,
    write,
)
from tests.fakes.relaying import CLOCK, in_virtual_time

ASK = calling(order("cancel_order"))
EMPTY = STREAM.then(STOP, DONE)


class Asked(Site):
    """A site whose visitor was shown a card."""

    cards: list[dict[str, Any]]

    @classmethod
    async def with_card(cls, *replies: Reply, tools: list[RecordedTool]) -> Asked:
        site = cls(ASK, *(replies or [answer("It is cancelled.")]), toolbox=box(*tools))
        asked = await site.ask("cancel order 5", id="message-one")
        site.cards = [card_in(asked.events)]
        return site

    async def click(self, *, yes: bool = True, card: str = "") -> Answer:
        card = card or self.cards[-1]["id"]
        return await self.ask("", id=card, click=Click(card, yes))

    async def uses(self) -> list[Use]:
        """The calls of the last turn."""
        *_, last = await self.store.messages(self.store.chat, now=CLOCK.now())
        return stored_uses(last.steps)

    async def texts(self) -> list[str]:
        kept = await self.store.messages(self.store.chat, now=CLOCK.now())
        return [one.content for one in kept]


def prompt(site: Site, at: int = -1) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = json.loads(site.model.exchanges[at].body)["messages"]
    return messages


@in_virtual_time
async def test_a10_yes_is_a_message_whose_call_is_sent_once() -> None:
    cancel = write()
    site = await Asked.with_card(tools=[cancel])
    given = await site.click()
    assert given.complete
    assert given.text == "It is cancelled."
    assert steps_in(given.events) == [
        ("cancel_order", "input-available"),
        ("cancel_order", "output-available"),
    ]
    assert cancel.calls == [{"order_id": "5"}]
    assert len(cancel.keys[0]) == 40
    assert (await site.texts())[2:] == ["✓ Cancel order \u20685\u2069?", "It is cancelled."]
    assert [one["role"] for one in prompt(site)[-3:]] == ["user", "assistant", "tool"]


@in_virtual_time
async def test_a10_a_repeated_click_gives_the_same_answer_and_sends_nothing() -> None:
    cancel = write()
    site = await Asked.with_card(tools=[cancel])
    first = await site.click()
    again = await site.click()
    assert (again.complete, again.text) == (True, first.text)
    assert steps_in(again.events) == [("cancel_order", "output-available")]
    no = await site.click(yes=False)
    assert no.text == first.text, "the first click decides"
    assert len(cancel.calls) == 1


@in_virtual_time
async def test_a10_two_clicks_at_once_are_one_call() -> None:
    cancel = write(seconds=1)
    site = await Asked.with_card(tools=[cancel])
    both = await asyncio.gather(site.click(), site.click())
    assert len(cancel.calls) == 1
    assert [one.text for one in both] == ["It is cancelled.", "It is cancelled."]


@in_virtual_time
async def test_a10_no_asks_no_model_and_the_model_hears_of_it() -> None:
    cancel = write()
    site = await Asked.with_card(tools=[cancel])
    given = await site.click(yes=False)
    assert given.text == "All right, nothing was changed."
    assert steps_in(given.events) == [("cancel_order", "output-denied")]
    assert len(site.model.exchanges) == 1
    yes = await site.click()
    assert yes.text == given.text, "the first click decides"
    await site.ask("why?", id="message-two")
    assert cancel.calls == []
    assert prompt(site)[-2]["content"] == "All right, nothing was changed."


@in_virtual_time
async def test_a10_another_message_is_a_no_and_a_late_click_is_refused_in_words() -> None:
    cancel = write()
    site = await Asked.with_card(answer("As you like."), tools=[cancel])
    await site.ask("no, wait", id="message-two")
    results = [one["content"] for one in prompt(site) if one["role"] == "tool"]
    assert results == ["Not carried out: the visitor did not approve it."]
    late = await site.click()
    assert (late.status, late.code) == (409, "approval_gone")
    assert "another message" in late.body
    assert json.loads(late.body)["error"]["reason"] == "superseded"
    assert cancel.calls == []


@in_virtual_time
async def test_a10_a_card_lasts_ten_minutes_and_a_click_in_time_can_be_repeated() -> None:
    cancel = write()
    site = await Asked.with_card(tools=[cancel])
    await asyncio.sleep(601)
    late = await site.click()
    assert (late.status, late.code) == (409, "approval_gone")
    assert json.loads(late.body)["error"]["reason"] == "expired"
    site = await Asked.with_card(refusal(400), answer("Done."), tools=[write()])
    await asyncio.sleep(599)
    await site.click()
    await asyncio.sleep(60)
    assert (await site.click()).complete


@in_virtual_time
async def test_a10_a_person_who_took_over_ends_the_card() -> None:
    cancel = write()
    site = await Asked.with_card(tools=[cancel])
    taken = Attendance("person", "Ann", CLOCK.now())
    assert await site.store.set_attendance(site.store.chat, taken)
    given = await site.click()
    assert (given.status, given.code) == (409, "approval_gone")
    assert json.loads(given.body)["error"]["reason"] == "taken"
    assert cancel.calls == []


@pytest.mark.parametrize("forged", ["approval-1-" + 32 * "0", "approval-7-abc", "approval-x-1"])
def test_a10_a_forged_card_is_refused(forged: str) -> None:
    @in_virtual_time
    async def clicked() -> None:
        cancel = write()
        site = await Asked.with_card(tools=[cancel])
        given = await site.click(card=forged)
        assert (given.status, given.code) == (409, "approval_gone")
        assert cancel.calls == []

    clicked()


@in_virtual_time
async def test_a10_typing_the_text_of_a_click_approves_nothing() -> None:
    cancel = write()
    site = await Asked.with_card(answer("Please click."), tools=[cancel])
    await site.ask("✓ Cancel order 5?", id="message-two")
    assert cancel.calls == []
    typed = await site.process.ask(
        "✓ Cancel order 5?", site.last, client_message_id=site.cards[0]["id"]
    )
    assert (typed.status, typed.code) == (400, "invalid_request")


@pytest.mark.parametrize("state", ["done", "failed", "unsure"])
def test_a10_each_outcome_is_stored_and_told(state: Any) -> None:
    @in_virtual_time
    async def clicked() -> None:
        cancel = write("cancel_order", Outcome("so it went", state))
        site = await Asked.with_card(answer("I told you."), tools=[cancel])
        given = await site.click()
        shown = {"done": "available", "failed": "error", "unsure": "unsure"}[state]
        assert steps_in(given.events)[-1] == ("cancel_order", f"output-{shown}")
        [use] = await site.uses()
        assert (use.state, use.result) == (state, "so it went")
        assert prompt(site)[-1]["content"] == "so it went"

    clicked()


@pytest.mark.parametrize("reply", [refusal(400), EMPTY])
def test_a10_a_turn_with_a_done_write_ends_ok_with_a_sentence(reply: Reply) -> None:
    """Later prompts know of the write, although the model has said nothing."""

    @in_virtual_time
    async def clicked() -> None:
        cancel = write()
        site = await Asked.with_card(reply, answer("hello"), tools=[cancel])
        given = await site.click()
        assert given.complete
        assert given.text == "Done: Cancel order \u20685\u2069"
        await site.ask("and now?", id="message-two")
        assert "a result" in [one["content"] for one in prompt(site)]
        assert len(cancel.calls) == 1

    clicked()


@in_virtual_time
async def test_a10_a_write_whose_time_is_over_is_unsure_and_never_sent_again() -> None:
    cancel = write(seconds=60)
    site = await Asked.with_card(answer("Not sure."), tools=[cancel])
    given = await site.click()
    assert steps_in(given.events)[-1] == ("cancel_order", "output-unsure")
    await site.click()
    assert len(cancel.calls) == 1


@in_virtual_time
async def test_a10_a_visitor_who_leaves_after_the_click_does_not_stop_it() -> None:
    cancel = write(seconds=2)
    site = await Asked.with_card(tools=[cancel])
    card = site.cards[0]["id"]
    click = Click(card, approved=True)
    asked = site.process.connect("", site.last, client_message_id=card, click=click)
    await asyncio.sleep(1)
    asked.leave()
    await asked.ended()
    [use] = await site.uses()
    assert (use.state, len(cancel.calls)) == ("done", 1)


@in_virtual_time
async def test_a10_a_stop_in_the_middle_of_a_write_is_unsure() -> None:
    cancel = write(seconds=5)
    site = await Asked.with_card(tools=[cancel])
    card = site.cards[0]["id"]
    click = Click(card, approved=True)
    asked = site.process.connect("", site.last, client_message_id=card, click=click)
    await asyncio.sleep(1)
    assert site.process.cancel(card)
    await asked.ended()
    [use] = await site.uses()
    assert (use.state, cancel.stopped) == ("unsure", 1)
    again = await site.click()
    assert len(cancel.calls) == 1
    assert "not certain" in again.text


@in_virtual_time
async def test_h4_a_person_who_takes_over_lets_a_write_end() -> None:
    cancel = write(seconds=2)
    site = await Asked.with_card(tools=[cancel])
    clicked = asyncio.create_task(site.click())
    await asyncio.sleep(1)
    site.process.runtime.running.take_over(site.session)
    assert (await clicked).text == "It is cancelled."
    assert [one.state for one in await site.uses()] == ["done"]


@in_virtual_time
async def test_a10_a_write_is_saved_before_it_is_sent_and_after() -> None:
    cancel = write(seconds=1)
    site = await Asked.with_card(tools=[cancel])
    card = site.cards[0]["id"]
    click = Click(card, approved=True)
    asked = site.process.connect("", site.last, client_message_id=card, click=click)
    await asyncio.sleep(0.5)
    assert [one.state for one in await site.uses()] == ["sending"]
    await asyncio.sleep(0.6)
    assert [one.state for one in await site.uses()] == ["done"]
    await asked.ended()


@in_virtual_time
async def test_a10_a_store_that_fails_before_the_write_means_no_write() -> None:
    cancel = write()
    site = await Asked.with_card(tools=[cancel])
    site.store.away_until["renew"] = CLOCK.monotonic() + 60
    given = await site.click()
    assert cancel.calls == []
    assert not given.complete
    await asyncio.sleep(61)
    again = await site.click()
    assert (again.text, len(cancel.calls)) == ("It is cancelled.", 1)


@in_virtual_time
async def test_a9_at_most_five_cards_an_hour() -> None:
    cancel = write()
    site = Site(calling(order("cancel_order")), toolbox=box(cancel))
    for number in range(5):
        given = await site.ask("cancel", id=f"message-{number}")
        assert card_in(given.events)
    refused = await site.ask("cancel", id="message-5")
    assert steps_in(refused.events)[-1] == ("cancel_order", "output-error")


@in_virtual_time
async def test_a12_a_bound_parameter_is_the_users_whatever_the_model_says() -> None:
    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    orders = read(
        "my_orders", bind={"customer_id": "user.sub"}, parameters=parameters, needs_user=True
    )
    site = Site(calling(("my_orders", "{}")), answer("ok"), toolbox=box(orders))
    await site.ask(owner="ada", claims={"plan": "gold"})
    assert orders.calls == [{"customer_id": "ada"}]
    assert orders.visitors[0].claims == {"plan": "gold"}
    other = calling(("my_orders", '{"customer_id": "bob"}'))
    site = Site(other, answer("no"), toolbox=box(orders))
    await site.ask(owner="ada")
    assert len(orders.calls) == 1, "the model cannot set it"
    anonymous = Site(answer("Please sign in."), toolbox=box(orders))
    await anonymous.ask()
    assert "tools" not in json.loads(anonymous.model.exchanges[0].body)


@in_virtual_time
async def test_a10_text_after_the_write_is_kept_if_the_model_breaks_off() -> None:
    cancel = write()
    broken = STREAM.then(text("It is can"), LOST)
    site = await Asked.with_card(broken, tools=[cancel])
    await site.click()
    *_, question, said = await site.store.messages(site.store.chat, now=CLOCK.now())
    assert (question.status, said.content) == ("ok", "It is can")
