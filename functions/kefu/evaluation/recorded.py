"""Requests of the past, from the log of a terminal session or from a stored chat."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kefu.agent.events import Assistant, Log, SessionStart
from kefu.agent.instructions import RULES as AGENT_RULES
from kefu.agent.react import parse, prompts
from kefu.chat.prompt import Sampling, request_body
from kefu.chat.steps import RULES as TOOL_RULES
from kefu.knowledge.sources import RULES as PAGE_RULES
from kefu.knowledge.sources import RULES_FOR_JSON, RULES_WITH_TOOLS
from kefu.relay.chunks import Usage
from kefu.tools.use import Use

_RULES = (AGENT_RULES, PAGE_RULES, RULES_WITH_TOOLS, RULES_FOR_JSON, TOOL_RULES)

ToolCalled = tuple[str, str]
"""A call of a tool: its name and its arguments, which should be JSON."""


class Recorded(NamedTuple):
    """A recorded request to a model, and the answer to it."""

    place: str
    question: str
    body: bytes
    """The request, byte by byte."""
    answer: str
    usage: Usage | None
    calls: Sequence[ToolCalled] = ()
    """The calls of tools in the answer."""


def has_same_calls(one: Sequence[ToolCalled], other: Sequence[ToolCalled]) -> bool:
    """Whether both have the same calls by name and arguments, in any order."""
    first, second = (sorted(Use("", *called).digest for called in calls) for calls in (one, other))
    return first == second


def of_log(log: Log, sampling: Sampling) -> Iterator[Recorded]:
    """The last request of each turn; results of tools are part of it, as they were.

    `sampling`: what the log of a terminal session does not have.
    """
    start = next((e.body for e in log.events if isinstance(e.body, SessionStart)), SessionStart())
    last: dict[int, Recorded] = {}
    for event, messages in prompts(log):
        body, turn = event.body, event.turn or 0
        assert isinstance(body, Assistant)
        questions = [m.content for m in messages if m.role == "user"]
        before = last.get(turn)
        last[turn] = Recorded(
            f"{event.session_id}:{turn}",
            before.question if before else questions[-1] if questions else "",
            request_body(messages, sampling._replace(model=start.model)),
            final_text(body.content),
            Usage(body.tokens.prompt, body.tokens.completion),
        )
    yield from last.values()


def final_text(output: str) -> str:
    """The answer in an output of the terminal's model, without thoughts and tags."""
    parsed = parse(output)
    return getattr(parsed, "text", None) or output


def of_chat(chat: Mapping[str, Any], *, rated_down: bool = False) -> Iterator[Recorded]:
    """The answered requests of a stored chat, as the panel's API returns it: of each message those
    of its last try. With tools they are several.

    `rated_down`: only requests whose answer the visitor rated down. A request that was not captured
    has an empty `body`.
    """
    messages = {message["id"]: message for message in chat["messages"]}
    for question in messages.values():
        replies = [m for m in messages.values() if m.get("reply_to") == question["id"]]
        if rated_down and not any(m.get("rating") == "down" for m in (question, *replies)):
            continue
        steps = _last_try([one for one in chat["calls"] if one["message_id"] == question["id"]])
        place = f"{chat['session']['id']}:{question['id']}"
        for number, call in enumerate(steps, 1):
            text, calls = _response(call["response"])
            if len(steps) == 1 and not calls:  # with a call it may be the text of a card
                text = replies[-1]["content"] if replies else ""
            tokens = call["prompt_tokens"], call["completion_tokens"]
            yield Recorded(
                place if len(steps) == 1 else f"{place}:{number}",
                question["content"],
                (call["request"] or "").encode(errors="backslashreplace"),
                text,
                None if None in tokens else Usage(*tokens),
                calls,
            )


def _last_try(calls: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The answers in the last try of a message: no summaries, and no prompt that was too long."""
    answers = [
        call
        for call in calls
        if not (call["meta"] or {}).get("purpose")
        and (call["error"] or {}).get("code") != "context_length_exceeded"
    ]
    last = max((_again(call) for call in answers), default=0)
    return [call for call in answers if _again(call) == last]


def _again(call: Mapping[str, Any]) -> int:
    return int((call["meta"] or {}).get("again", 0))


def _response(response: Mapping[str, Any] | None) -> tuple[str, list[ToolCalled]]:
    """The text and the calls of tools in a stored response."""
    choices = (response or {}).get("choices") or [{}]
    message = choices[0].get("message") or {}
    functions = [one["function"] for one in message.get("tool_calls") or ()]
    return message.get("content") or "", [(one["name"], one["arguments"]) for one in functions]


def changed(body: bytes, model: str | None, system: str | None) -> bytes:
    """The request with another model or system prompt; unchanged bytes without either.

    The rules that Kefu adds to a system prompt, for tools and for learnt pages, stay.
    """
    if model is None and system is None:
        return body
    fields = json.loads(body)
    if model is not None:
        fields["model"] = model
    if system is not None:
        fields["messages"] = _with_system(fields["messages"], system)
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")


def _with_system(messages: Sequence[Any], system: str) -> list[Any]:
    rest, rules = list(messages), ""
    if rest and rest[0]["role"] == "system":
        old = rest.pop(0)["content"]
        starts = [at for at in map(old.find, _RULES) if at >= 0]
        rules = old[min(starts) :] if starts else ""
    text = "\n\n".join(part for part in (system.strip(), rules) if part)
    return [{"role": "system", "content": text}, *rest] if text else rest
