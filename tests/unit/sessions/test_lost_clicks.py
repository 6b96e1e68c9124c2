"""A10: what is known of a click whose process was killed, or is at work, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from kefu.sessions.store.attendance import Attendance
from kefu.sessions.store.model import LEASE, NewMessage
from kefu.tools.tool import Outcome
from kefu.tools.use import Use, stored
from kefu.tools.workbench import NOT_KNOWN
from tests.fakes.in_process import Process
from tests.fakes.in_process_upstream import answer
from tests.fakes.recorded_tool import box, order, read, write
from tests.fakes.relaying import CLOCK, in_virtual_time
from tests.unit.sessions.test_clicks import Asked, prompt

Lost = Literal["", "sending", "done"]


async def lost_click(site: Asked, state: Lost) -> None:
    """A click whose process was killed when the call had this state; "": nothing was saved."""
    card = site.cards[0]
    found = await site.store.session(site.store.chat)
    assert found
    asked = NewMessage(f"✓ {card['text']}", card["id"])
    begun = await site.store.begin(found, asked, CLOCK.now())
    ids = begun.message.session_id, begun.message.id
    if state:
        use = Use("s0c0", *order("cancel_order"), state=state, card="Cancel order 5?")
        assert await site.store.renew(*ids, 0, CLOCK.now(), stored([use]))
    await asyncio.sleep(LEASE + 1)


@pytest.mark.parametrize(
    ("outcome", "idempotent", "calls", "state"),
    [
        (Outcome("a result"), False, 0, "unsure"),
        (Outcome("a result"), True, 1, "done"),
        # Such as a 409 for an order that the first try has cancelled.
        (Outcome("The service answered HTTP 409.", "failed"), True, 1, "unsure"),
    ],
)
def test_a10_a_try_that_finds_sending_is_unsure_or_sends_with_the_same_key(
    outcome: Outcome, idempotent: bool, calls: int, state: str
) -> None:
    """As after kill -9 between the save and the result."""

    @in_virtual_time
    async def clicked() -> None:
        cancel = write("cancel_order", outcome, idempotent=idempotent)
        site = await Asked.with_card(answer("well"), tools=[cancel])
        await lost_click(site, "sending")
        await site.click()
        assert len(cancel.calls) == calls
        [use] = await site.uses()
        assert use.state == state

    clicked()


@in_virtual_time
async def test_a10_a_lost_call_of_a_tool_that_is_gone_is_unsure() -> None:
    site = await Asked.with_card(answer("well"), tools=[write(idempotent=True)])
    await lost_click(site, "sending")
    site.process = Process(site.store, site.model, CLOCK, toolbox=box(read()))
    await site.click()
    [use] = await site.uses()
    assert (use.state, use.result) == ("unsure", NOT_KNOWN)


@pytest.mark.parametrize(
    ("state", "told", "calls"),
    [
        ("", "All right, nothing was changed.", 0),
        ("sending", "It is not certain whether this was done", 0),
        ("done", "Done: Cancel order", 0),
    ],
)
def test_a10_the_model_hears_of_a_lost_click_before_it_is_sent_again(
    state: Lost, told: str, calls: int
) -> None:
    """Else it could ask for the same change a second time. A lost click that was not sent is not
    carried out after another message.
    """

    @in_virtual_time
    async def clicked() -> None:
        cancel = write()
        site = await Asked.with_card(answer("I see."), tools=[cancel])
        await lost_click(site, state)
        await site.ask("and now?", id="message-two")
        assert prompt(site)[-2]["content"].startswith(told)
        assert "did not approve" not in str(prompt(site))
        again = await site.click()
        assert again.complete == bool(state)
        assert state or (again.status, again.code) == (409, "approval_gone")
        assert len(cancel.calls) == calls

    clicked()


@pytest.mark.parametrize(("state", "complete"), [("", False), ("sending", True)])
def test_a10_a_lost_click_that_was_not_sent_is_not_carried_out_later_than_ten_minutes(
    state: Lost, complete: bool
) -> None:
    """What became of one that may have been sent is told at any time."""

    @in_virtual_time
    async def clicked() -> None:
        cancel = write()
        site = await Asked.with_card(answer("I see."), tools=[cancel])
        await lost_click(site, state)
        await asyncio.sleep(601)
        again = await site.click()
        assert again.complete == complete
        assert complete or "expired" in again.body
        assert cancel.calls == []

    clicked()


@pytest.mark.parametrize(
    ("state", "said"), [("", "Nothing was changed."), ("sending", "Please ask whether")]
)
def test_a10_a_person_who_has_taken_over_ends_a_lost_click_without_a_lie(
    state: Lost, said: str
) -> None:
    @in_virtual_time
    async def clicked() -> None:
        cancel = write()
        site = await Asked.with_card(answer("I see."), tools=[cancel])
        await lost_click(site, state)
        taken = Attendance("person", "Ann", CLOCK.now())
        assert await site.store.set_attendance(site.store.chat, taken)
        again = await site.click()
        assert (again.status, again.code) == (409, "approval_gone")
        assert said in again.body
        assert cancel.calls == []

    clicked()


@in_virtual_time
async def test_a10_a_click_is_answered_as_before_when_a_person_has_taken_over() -> None:
    cancel = write()
    site = await Asked.with_card(answer("It is cancelled."), tools=[cancel])
    await site.click()
    taken = Attendance("person", "Ann", CLOCK.now())
    assert await site.store.set_attendance(site.store.chat, taken)
    again = await site.click()
    assert (again.complete, again.text) == (True, "It is cancelled.")
    assert len(cancel.calls) == 1


@in_virtual_time
async def test_a10_the_model_hears_of_a_click_that_is_being_answered() -> None:
    cancel = write(seconds=5)
    site = await Asked.with_card(answer("Wait."), tools=[cancel])
    clicked = asyncio.create_task(site.click())
    await asyncio.sleep(1)
    await site.ask("and now?", id="message-two")
    told = [one["content"] for one in prompt(site)]
    assert NOT_KNOWN in told
    assert any((one or "").startswith("It is not certain") for one in told)
    assert (await clicked).complete
    assert len(cancel.calls) == 1


@in_virtual_time
async def test_a10_a_store_that_fails_after_the_write_changes_nothing_of_what_is_told() -> None:
    """The end of the turn, which is saved with retries, has the outcome too."""
    cancel = write(seconds=1)
    site = await Asked.with_card(answer("It is cancelled."), tools=[cancel])
    clicked = asyncio.create_task(site.click())
    await asyncio.sleep(0.5)
    site.store.away_until["renew"] = CLOCK.monotonic() + 60
    given = await clicked
    assert (given.complete, given.text) == (True, "It is cancelled.")
    [use] = await site.uses()
    assert (use.state, len(cancel.calls)) == ("done", 1)


@in_virtual_time
async def test_a10_a_message_that_is_saved_between_the_check_and_the_click_is_a_no() -> None:
    """The store takes its time, and the message reaches it first."""
    cancel = write()
    site = await Asked.with_card(answer("As you like."), tools=[cancel])
    site.store.seconds["begin"] = 2
    clicked = asyncio.create_task(site.click())
    await asyncio.sleep(1)
    site.store.seconds["begin"] = 0
    said = await site.ask("no, wait", id="message-two")
    assert (said.complete, clicked.done()) == (True, False)
    given = await clicked
    assert (given.status, given.code) == (409, "approval_gone")
    assert cancel.calls == []
    await site.ask("and now?", id="message-three")
    assert "All right, nothing was changed." in [one["content"] for one in prompt(site)]
