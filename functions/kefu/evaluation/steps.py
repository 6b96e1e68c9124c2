"""The calls of tools in an answer: what they are compared with, and how a report shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kefu.evaluation.cases import CaseQuestion, Expected
from kefu.evaluation.tool_fields import CalledTool, is_same

_SHOWN_CHARS = 160
"""Characters of a result in a report."""
_STATES = {
    "input-available": "running",
    "output-available": "done",
    "output-error": "failed",
    "output-unsure": "unsure",
    "output-denied": "denied",
    "approval-requested": "asked",
}
_ISOLATES = str.maketrans("", "", "\u2068\u2069")
"""The marks around the values in a card."""


class CallStep(NamedTuple):
    """A call of a tool. A call that was approved is there twice: asked, and carried out."""

    id: str
    """Unique in its answer."""
    tool: str
    state: str
    """As events of the stream name it."""
    arguments: Mapping[str, object] | None = None
    """None: the service has not told."""
    result: str = ""
    """As it was stored, so perhaps cut; "" if the service has not told."""


class ShownCard(NamedTuple):
    """A card, and the answer to it."""

    id: str
    tool: str
    text: str
    answer: bool | None = None
    """None: it was not answered."""


class ToolUse(NamedTuple):
    """What an answer did with tools."""

    steps: Sequence[CallStep] = ()
    cards: Sequence[ShownCard] = ()
    not_given: Sequence[str] = ()
    """The tools for which the file gives no result."""


def step_lines(use: ToolUse) -> Iterator[str]:
    """The lines of a report: the calls, and the cards after the calls that they are for."""
    cards = list(use.cards)
    for step in use.steps:
        known = "" if step.arguments is None else f" {_compact(step.arguments)}"
        result = " ".join(step.result.split())
        if len(result) > _SHOWN_CHARS:
            result = f"{result[:_SHOWN_CHARS]}…"
        told = f": {result}" if result else ""
        yield f"call: {step.tool}{known}, {_STATES.get(step.state, step.state)}{told}"
        if step.state == "approval-requested" and cards:
            card = cards.pop(0)
            answered = {None: "no answer", True: "yes", False: "no"}[card.answer]
            yield f"card: {card.text} ({answered})"


def card_text(text: str) -> str:
    """The text of a card without its invisible marks, as it is compared and shown."""
    return " ".join(text.translate(_ISOLATES).split())


def result_failures(use: ToolUse) -> Iterator[str]:
    """A line for each tool that was called and has no result in the file."""
    for name in dict.fromkeys(use.not_given):
        yield (
            f"{name}: was called, and the file gives no result for it, so nothing was sent: "
            "add one to `results`, or use --live-tools"
        )


def click_failures(cards: Sequence[ShownCard], question: CaseQuestion) -> Iterator[str]:
    """A line for each click of the file for which there was no card."""
    given = question.approve
    names = given if isinstance(given, Mapping) else ("",) if given is not None else ()
    for name in names:
        if not any(one.tool == name or not name for one in cards):
            yield f"approve: it showed no card{f' of {name}' if name else ''}"
    last = cards[-1] if cards else None
    if last and last.answer is None and question.answer_to(last.tool) is not None:
        answered = len(cards) - 1
        yield f"approve: it showed card after card; the one after {answered} answers has none"


def tool_failures(use: ToolUse, expected: Expected) -> Iterator[str]:
    """A line for each expectation about tools that does not hold."""
    yield from _about_calls(use.steps, expected)
    yield from _about_cards(use.cards, expected.card)


def _about_calls(steps: Sequence[CallStep], expected: Expected) -> Iterator[str]:
    seen = ", ".join(dict.fromkeys(map(_shown, steps))) or "nothing"
    if isinstance(expected.called, bool):
        if expected.called != bool(steps):
            yield f"called: it called {seen}"
    else:
        for one in expected.called or ():
            if not any(_is_call(step, one) for step in steps):
                yield f"called: {_shown(one)} is missing; it called {seen}{_untold(steps, one)}"
    for name in expected.not_called:
        if any(step.tool == name for step in steps):
            yield f"not_called: it called {seen}"


def _is_call(step: CallStep, wanted: CalledTool) -> bool:
    return step.tool == wanted.name and is_same(wanted.arguments, step.arguments or {})


def _untold(steps: Sequence[CallStep], wanted: CalledTool) -> str:
    if any(step.tool == wanted.name and step.arguments is None for step in steps):
        return "; the service tells the arguments only to its operator: set ADMIN_TOKEN"
    return ""


def _shown(call: CallStep | CalledTool) -> str:
    name = call.tool if isinstance(call, CallStep) else call.name
    return f"{name} {_compact(call.arguments)}" if call.arguments else name


def _about_cards(
    cards: Sequence[ShownCard], expected: Sequence[str] | bool | None
) -> Iterator[str]:
    seen = "; ".join(one.text for one in cards) or "no card"
    if isinstance(expected, bool):
        if expected != bool(cards):
            yield f"card: it showed {seen}"
    else:
        for part in expected or ():
            if not any(card_text(part).casefold() in one.text.casefold() for one in cards):
                yield f'card: "{part}" is not on a card; it showed {seen}'


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
