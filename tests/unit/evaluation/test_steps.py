"""A17: each expectation about tools holds for the right calls, and names what was called else."""

from __future__ import annotations

import pytest

from kefu.evaluation.cases import CaseQuestion, Expected
from kefu.evaluation.steps import (
    CallStep,
    ShownCard,
    ToolUse,
    click_failures,
    result_failures,
    step_lines,
    tool_failures,
)
from kefu.evaluation.tool_fields import CalledTool

LOOKED = CallStep("s0c0", "order_status", "output-available", {"order_id": "5"}, '{"items": 2}')
ASKED = CallStep("s1c0", "cancel_order", "approval-requested", {"order_id": "5"})
DONE = ASKED._replace(id="s0c0", state="output-available", result="ok")
CARD = ShownCard("approval-1-a", "cancel_order", "Cancel order 5? 2 items", answer=True)
USE = ToolUse([LOOKED, ASKED, DONE], [CARD])
NONE = ToolUse()
HELLO = CaseQuestion("Hello", Expected())


@pytest.mark.parametrize(
    ("expected", "right", "wrong", "says"),
    [
        (
            Expected(called=[CalledTool("order_status", {"order_id": "5"})]),
            USE,
            ToolUse([LOOKED._replace(arguments={"order_id": "6"})]),
            (
                'called: order_status {"order_id": "5"} is missing; '
                'it called order_status {"order_id": "6"}'
            ),
        ),
        (
            Expected(called=[CalledTool("order_status", {})]),
            ToolUse([LOOKED._replace(arguments=None)]),
            NONE,
            "called: order_status is missing; it called nothing",
        ),
        (
            Expected(called=[CalledTool("order_status", {"order_id": "5"})]),
            USE,
            ToolUse([LOOKED._replace(arguments=None)]),
            (
                'called: order_status {"order_id": "5"} is missing; it called order_status; '
                "the service tells the arguments only to its operator: set ADMIN_TOKEN"
            ),
        ),
        (Expected(called=True), USE, NONE, "called: it called nothing"),
        (
            Expected(called=False),
            NONE,
            USE,
            'called: it called order_status {"order_id": "5"}, cancel_order {"order_id": "5"}',
        ),
        (
            Expected(not_called=["x", "cancel_order"]),
            ToolUse([LOOKED]),
            ToolUse([ASKED]),
            'not_called: it called cancel_order {"order_id": "5"}',
        ),
        (
            Expected(card=["cancel ORDER 5", "2 items"]),
            USE,
            ToolUse([ASKED], [CARD._replace(text="Cancel order 5?")]),
            'card: "2 items" is not on a card; it showed Cancel order 5?',
        ),
        (Expected(card=True), USE, NONE, "card: it showed no card"),
        (Expected(card=False), NONE, USE, "card: it showed Cancel order 5? 2 items"),
    ],
)
def test_an_expectation(expected: Expected, right: ToolUse, wrong: ToolUse, says: str) -> None:
    assert list(tool_failures(right, expected)) == []
    assert list(tool_failures(wrong, expected)) == [says]


def test_an_answer_to_a_card_that_was_not_shown_is_a_failure() -> None:
    for approve in (True, False):
        question = HELLO._replace(approve=approve)
        assert list(click_failures(NONE.cards, question)) == ["approve: it showed no card"]
    other = HELLO._replace(approve={"book": True})
    assert list(click_failures(USE.cards, other)) == ["approve: it showed no card of book"]
    assert list(click_failures(USE.cards, HELLO._replace(approve={"cancel_order": True}))) == []


def test_cards_without_end_are_a_failure() -> None:
    many = ToolUse([], [CARD, CARD, CARD._replace(answer=None)])
    (failure,) = click_failures(many.cards, HELLO._replace(approve=True))
    assert failure == "approve: it showed card after card; the one after 2 answers has none"
    assert list(click_failures([CARD._replace(answer=None)], HELLO)) == []


def test_a_call_without_a_result_is_a_failure_once() -> None:
    use = ToolUse([LOOKED, LOOKED], not_given=["order_status", "order_status"])
    (failure,) = result_failures(use)
    assert failure.startswith("order_status: was called, and the file gives no result for it")


def test_the_lines_of_a_report() -> None:
    denied = CARD._replace(answer=False), CARD._replace(answer=None)
    assert list(step_lines(USE)) == [
        'call: order_status {"order_id": "5"}, done: {"items": 2}',
        'call: cancel_order {"order_id": "5"}, asked',
        "card: Cancel order 5? 2 items (yes)",
        'call: cancel_order {"order_id": "5"}, done: ok',
    ]
    told = [[*step_lines(ToolUse([ASKED], [one]))][1] for one in denied]
    assert told == [
        "card: Cancel order 5? 2 items (no)",
        "card: Cancel order 5? 2 items (no answer)",
    ]
    (long,) = step_lines(ToolUse([LOOKED._replace(arguments=None, result="x\n" * 200)]))
    assert long == f"call: order_status, done: {'x ' * 80}…"
    (new,) = step_lines(ToolUse([LOOKED._replace(state="a-later-state", result="")]))
    assert new.endswith("a-later-state")
