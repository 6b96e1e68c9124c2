"""A18: tools that change something in the terminal: they are asked for, and never forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kefu.agent.events import Approval, Final, Interrupt, Observation, event_line, read_lines
from kefu.agent.react import resume
from kefu.tools.tool import Arguments, Outcome, Tool, Visitor
from kefu.tools.use import Use
from tests.fakes.spoken import Rig, Say, rig, text_tool, until

ORDER = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
}
CANCEL = '<action tool="cancel">5</action>'


class Shop:
    """A write that has this outcome, and the reads of other hosts."""

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.outcome = outcome
        """None: there is no answer."""
        self.calls: list[tuple[Any, str, str]] = []

    async def run(self, arguments: Arguments, visitor: Visitor, key: str) -> Outcome:
        self.calls.append((arguments["order_id"], visitor.session, key))
        if self.outcome is None:
            await asyncio.sleep(3600)
        return self.outcome or Outcome("")

    def cancel(self, **fields: Any) -> Tool:
        approve = {"": "Cancel {order_id}?"}
        return Tool("cancel", "Cancels", ORDER, self.run, "write", approve=approve, **fields)

    def status(self, name: str, host: str) -> Tool:
        return Tool(name, "Tells", ORDER, self.run, host=host)


def answering(*said: bool, asked: list[Use] | None = None) -> dict[str, Any]:
    """The user's answers in turn."""
    answers = list(said)

    async def approve(use: Use, given: str) -> bool:
        (asked if asked is not None else []).append(use)
        return answers.pop(0)

    return {"approve": approve}


def contents(talk: Rig) -> list[str]:
    return [message.content for message in talk.session.chat_history if message.role != "system"]


def resumed_contents(talk: Rig) -> list[str]:
    log = read_lines(event_line(event) for event in talk.told())
    entries = [entry.message for entry in resume(log).entries]
    return [message.content for message in entries if message.role != "system"]


async def test_a18_a_write_is_asked_for_and_sent_after_a_yes() -> None:
    shop, asked = Shop(Outcome("cancelled")), list[Use]()
    deps = answering(False, True, asked=asked)
    talk = rig(CANCEL, CANCEL, "ok", tools=(shop.cancel(),), deps=deps)
    assert (await talk.session.run_turn("go")).status == "ok"
    assert [use.card for use in asked] == ["Cancel \u20685\u2069?"] * 2
    assert talk.bodies(Approval) == [Approval("cancel", False), Approval("cancel", True)]
    told = [(body.content, body.ok) for body in talk.bodies(Observation)]
    assert told == [("The user did not allow this call.", False), ("cancelled", True)]
    [(order, session, key)] = shop.calls
    assert (order, session, len(key)) == ("5", "sess_test", 40)


async def test_a18_without_somebody_to_ask_nothing_is_changed() -> None:
    shop = Shop(Outcome("cancelled"))
    talk = rig(CANCEL, "ok", tools=(shop.cancel(),))
    await talk.session.run_turn("go")
    assert shop.calls == []
    assert "approval" in talk.bodies(Observation)[0].content


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((Say(status=400),), "invalid_request"),
        (("<thought>a", "<thought>b", "<thought>c"), "malformed_output"),
        (('<action tool="none">1</action>',) * 3, "max_steps"),
    ],
)
async def test_a18_a_write_stays_in_the_conversation_of_a_failed_turn(
    answers: tuple[str | Say, ...], code: str
) -> None:
    """The next prompt must not be without it, or the model would do it a second time."""
    shop = Shop(Outcome("cancelled"))
    talk = rig(CANCEL, *answers, tools=(shop.cancel(),), deps=answering(True), max_steps=4)
    result = await talk.session.run_turn("go")
    assert result.error
    assert (result.error.code, result.final_text) == (code, "Done: Cancel \u20685\u2069")
    assert [body.content for body in talk.bodies(Final)] == [result.final_text]
    assert (contents(talk)[0], contents(talk)[-1]) == ("go", result.final_text)
    assert resumed_contents(talk) == contents(talk)


async def test_a18_ctrl_c_in_a_write_leaves_its_doubt_in_the_conversation() -> None:
    shop = Shop()
    talk = rig(CANCEL, "ok", tools=(shop.cancel(),), deps=answering(True))
    running = asyncio.ensure_future(talk.session.run_turn("go"))
    await until(lambda: shop.calls)
    talk.session.interrupt()
    result = await running
    assert result.status == "interrupted"
    assert result.final_text.startswith("It is not certain whether this was done: Cancel")
    assert talk.bodies(Interrupt)[0].content == result.final_text
    assert contents(talk) == resumed_contents(talk) == ["go", result.final_text]


async def test_s17_reads_leave_with_a_failed_turn() -> None:
    """Also a read that was asked for."""
    shop = Shop(Outcome("paid"))
    status = shop.status("status", "a.example")
    talk = rig(
        *('<action tool="status">5</action>', Say(status=400)),
        tools=(status,),
        deps=answering(True),
        approve_each=True,
    )
    assert (await talk.session.run_turn("go")).final_text == ""
    assert contents(talk) == []


TWO_HOSTS = ('<action tool="one">5</action>', '<action tool="two">5</action>', "ok")


@pytest.mark.parametrize("turns", ["one turn", "two turns", "resumed"])
async def test_a11_a_read_of_another_host_is_asked_for_after_a_result(turns: str) -> None:
    """A text in the result could make the model send the other host what it should not know."""
    shop, asked = Shop(Outcome("paid")), list[Use]()
    tools = (shop.status("one", "one.example"), shop.status("two", "two.example"))
    deps = answering(False, asked=asked)
    answers = TWO_HOSTS if turns == "one turn" else (TWO_HOSTS[0], "ok", *TWO_HOSTS[1:])
    talk = rig(*answers, tools=tools, deps=deps)
    await talk.session.run_turn("go")
    if turns == "resumed":
        log = read_lines(event_line(event) for event in talk.told())
        talk = rig(*TWO_HOSTS[1:], tools=tools, deps=deps, resumed=resume(log))
    if turns != "one turn":
        await talk.session.run_turn("go on")
    assert [use.name for use in asked] == ["two"]
    assert len(shop.calls) == 1


async def test_a_secret_in_a_result_is_neither_shown_nor_logged() -> None:
    async def echo(_: str) -> str:
        return "the key is canary-1234"

    hide: Callable[[str], str] = lambda text: text.replace("canary-1234", "…")  # noqa: E731
    talk = rig(
        *('<action tool="echo">x</action>', "ok"),
        tools=(text_tool("echo", "", echo),),
        deps={"redact": hide},
    )
    await talk.session.run_turn("go")
    assert talk.bodies(Observation)[0].content == "the key is …"
    assert "canary" not in str(talk.spoken.asked)


async def test_a5_an_unknown_tool_that_is_called_again_and_again_ends_the_turn() -> None:
    talk = rig('<action tool="none">1</action>')
    result = await talk.session.run_turn("go")
    assert result.error
    assert (result.error.code, len(result.steps)) == ("repeated_action", 5)
