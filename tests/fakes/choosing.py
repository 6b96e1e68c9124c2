"""A model that chooses tools by rule, as a `Behaviour` of the scripted upstream.

It calls what a rule says for the visitor's last message, and answers with the results of its calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.fakes.behaviours import DONE, Exchange, Stream, answer, chunk, event

Made = tuple[str, Mapping[str, Any] | str]
"""A tool, and its arguments, or their JSON."""


class Rule(NamedTuple):
    pattern: str
    """Of the visitor's message."""
    calls: Callable[[re.Match[str]], Sequence[Made]]
    text: str = ""
    """What the model says before its calls."""


def rule(pattern: str, name: str, text: str = "", **arguments: str) -> Rule:
    """A rule for one call; `order_id=r"\\1"` takes a group of the pattern."""
    return Rule(
        pattern,
        lambda found: [(name, {key: found.expand(one) for key, one in arguments.items()})],
        text,
    )


class Choosing:
    """The behaviour for every request."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    async def __call__(self, exchange: Exchange) -> None:
        await self._stream(exchange.body)(exchange)

    def _stream(self, body: Mapping[str, Any]) -> Stream:
        messages = body["messages"]
        last = messages[-1]
        if last["role"] == "tool":
            results: list[str] = []
            for message in reversed(messages):
                if message["role"] != "tool":
                    break
                results.insert(0, message["content"])
            return answer("The results: ", *results)
        asked = last["content"].rpartition("The visitor's message:\n")[2]
        if body.get("tools") and body.get("tool_choice") != "none":
            for one in self.rules:
                if found := re.search(one.pattern, asked):
                    return calling(*one.calls(found), text=one.text)
        return answer("No tool: ", asked)


def calling(*calls: Made, text: str = "") -> Stream:
    """A streamed answer with these calls, whose arguments come in two pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": text or None}]
    for index, (name, given) in enumerate(calls):
        arguments = given if isinstance(given, str) else json.dumps(given)
        half = len(arguments) // 2
        head = {"index": index, "id": f"call_{index}", "type": "function"}
        begun = {"name": name, "arguments": arguments[:half]}
        deltas.append({"tool_calls": [{**head, "function": begun}]})
        rest = {"index": index, "function": {"arguments": arguments[half:]}}
        deltas.append({"tool_calls": [rest]})
    chunks = [*(chunk(one) for one in deltas), chunk({}, finish="tool_calls")]
    return Stream((*map(event, chunks), DONE))
