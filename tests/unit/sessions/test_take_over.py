"""H4, H5: an operator takes a chat over, writes in it and hands it back."""

from __future__ import annotations

import pytest

from kefu.errors import InvalidRequest, SessionNotFound, WrongState
from kefu.sessions.people.take_over import change_state, say
from kefu.sessions.store.attendance import Attendance, OperatorMessage, State
from tests.fakes.kept_site import Site
from tests.fakes.relaying import CLOCK, in_virtual_time


def change(state: State, operator: str = "Ingrid") -> Attendance:
    return Attendance(state, operator, CLOCK.now())


async def chat() -> Site:
    site = Site()
    await site.ask()
    return site


@pytest.mark.parametrize("state", ["person", "waiting"])
@in_virtual_time
async def test_h4_a_change_is_saved_and_a_repeated_one_changes_nothing(state: State) -> None:
    site = await chat()
    found = [await change_state(site.store, site.session, change(state)) for _ in range(2)]
    assert [(one.state, one.operator) for one in found] == [(state, "Ingrid")] * 2
    session = await site.store.session(site.session)
    assert session
    assert [session.attendance] * 2 == found


@in_virtual_time
async def test_h4_a_chat_that_another_operator_has_is_refused_with_the_name() -> None:
    site = await chat()
    await change_state(site.store, site.session, change("person"))
    with pytest.raises(WrongState, match=r"^Ingrid has this chat\.$"):
        await change_state(site.store, site.session, change("person", "Olav"))
    with pytest.raises(WrongState, match=r"^Ingrid has this chat\.$"):
        await change_state(site.store, site.session, change("closed", "Olav"))
    with pytest.raises(WrongState, match=r"^Ingrid has this chat\.$"):
        await say(site.store, site.session, OperatorMessage("hello", "Olav", "line"), CLOCK.now())
    taken = await change_state(site.store, site.session, change("person", "Olav"), "Ingrid")
    assert taken.operator == "Olav"


@in_virtual_time
async def test_h4_two_operators_may_both_say_that_a_chat_is_closed() -> None:
    site = await chat()
    await change_state(site.store, site.session, change("person"))
    await change_state(site.store, site.session, change("closed"))
    found = await change_state(site.store, site.session, change("closed", "Olav"))
    assert (found.state, found.operator) == ("closed", "Ingrid")


@in_virtual_time
async def test_h4_a_state_that_does_not_follow_is_refused() -> None:
    site = await chat()
    with pytest.raises(WrongState, match=r"^No person has this chat\. Take it over first\.$"):
        await change_state(site.store, site.session, change("closed"))


@in_virtual_time
async def test_h4_an_absent_chat_is_not_found() -> None:
    site = await chat()
    await site.store.delete(site.session)
    with pytest.raises(SessionNotFound):
        await change_state(site.store, site.session, change("person"))
    with pytest.raises(SessionNotFound):
        await say(site.store, site.session, OperatorMessage("hello", "Ingrid", "line"), CLOCK.now())


@in_virtual_time
async def test_h5_a_line_is_saved_once_without_spaces_around_it() -> None:
    site = await chat()
    await change_state(site.store, site.session, change("person"))
    line = OperatorMessage(" hello \n", "Ingrid", "line")
    ids = [await say(site.store, site.session, line, CLOCK.now()) for _ in range(2)]
    messages = await site.messages()
    assert [one.id for one in messages if one.operator == "Ingrid"] == ids[:1] == ids[1:]
    assert messages[-1].content == "hello"


@pytest.mark.parametrize("text", ["", " \n"])
@in_virtual_time
async def test_h5_an_empty_line_is_refused(text: str) -> None:
    site = await chat()
    await change_state(site.store, site.session, change("person"))
    with pytest.raises(InvalidRequest) as refused:
        await say(site.store, site.session, OperatorMessage(text, "Ingrid", "line"), CLOCK.now())
    assert refused.value.param == "text"
    assert len(await site.messages()) == 2


@in_virtual_time
async def test_h5_a_line_needs_a_chat_that_a_person_has() -> None:
    site = await chat()
    with pytest.raises(WrongState, match="Take it over first"):
        await say(site.store, site.session, OperatorMessage("hello", "Ingrid", "line"), CLOCK.now())
