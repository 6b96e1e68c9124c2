"""A tool in the process of the test, which keeps its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kefu.tools.tool import Arguments, Outcome, Tool, Visitor
from kefu.tools.toolbox import Toolbox
from tests.fakes.in_process_upstream import DONE, STREAM, Reply, chunk, text

ONE_ORDER = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}


class RecordedTool:
    def __init__(self, name: str, *outcomes: Outcome | str, seconds: float = 0, **fields: Any):
        """`outcomes`: of its calls in turn, the last one of all that follow."""
        self.calls: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.visitors: list[Visitor] = []
        self.seconds = seconds
        self.stopped = 0
        self._outcomes = outcomes or ("a result",)
        given = {"description": f"What {name} does.", "parameters": ONE_ORDER, **fields}
        self.tool = Tool(name=name, run=self._run, **given)

    async def _run(self, arguments: Arguments, visitor: Visitor, key: str) -> Outcome:
        self.calls.append(dict(arguments))
        self.keys.append(key)
        self.visitors.append(visitor)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        made = self._outcomes[min(len(self.calls), len(self._outcomes)) - 1]
        return Outcome(made) if isinstance(made, str) else made


def read(name: str = "order_status", *outcomes: Outcome | str, **fields: Any) -> RecordedTool:
    return RecordedTool(name, *outcomes, title={"": "Looking up"}, **fields)


def write(name: str = "cancel_order", *outcomes: Outcome | str, **fields: Any) -> RecordedTool:
    given = {"approve": {"": "Cancel order {order_id}?"}, "title": {"": "Cancelling"}, **fields}
    return RecordedTool(name, *outcomes, effect="write", **given)


def box(*tools: RecordedTool) -> Toolbox:
    return Toolbox([one.tool for one in tools])


def calling(
    *calls: tuple[str, str], said: str = "", thought: dict[str, str] | None = None
) -> Reply:
    """A reply of the model: calls, each a name and the JSON of its arguments."""
    before = [chunk(thought)] if thought else []
    before += [text(said)] if said else []
    deltas = [
        chunk(
            {
                "tool_calls": [
                    {
                        "index": index,
                        "id": f"call_{index}",
                        "type": "function",
                        "function": {"name": name, "arguments": arguments},
                    }
                ]
            }
        )
        for index, (name, arguments) in enumerate(calls)
    ]
    return STREAM.then(*before, *deltas, chunk({}, finish="tool_calls"), DONE)


def order(name: str, number: str = "5") -> tuple[str, str]:
    return name, f'{{"order_id": "{number}"}}'


def steps_in(events: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """The tools and states of an answer's events."""
    shown = [one["step"] for one in events if one.get("object") == "kefu.step"]
    return [(one["tool"], one["state"]) for one in shown]


def card_in(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    [card] = [one["approval"] for one in events if one.get("object") == "kefu.approval"]
    return dict(card)
