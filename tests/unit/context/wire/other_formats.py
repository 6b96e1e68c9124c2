"""Random conversations in the formats of LangChain, pydantic-ai, Bedrock, Gemini, the AI SDK and
Ollama, as their dicts, and the rules by which their APIs refuse one.

`tests.clients.scripts.foreign_messages` makes objects of the libraries from the same dicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from tests.unit.context.wire.formats import (
    PIXEL,
    Conversation,
    Format,
    Writer,
    asked_beside,
    call_ids,
    results_of,
    text,
)


class LangChain(Writer):
    def system(self, dice: Random) -> Conversation:
        return [{"type": "system", "content": text(dice)}]

    def user(self, dice: Random) -> Conversation:
        parts = [{"type": "text", "text": text(dice)}]
        return [{"type": "human", "content": parts if dice.random() < 0.2 else text(dice)}]

    def answer(self, dice: Random) -> Conversation:
        return [{"type": "ai", "content": text(dice)}]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        calls = [{"name": "look", "args": {"q": id}, "id": id, "type": "tool_call"} for id in ids]
        uses = [{"type": "tool_use", "id": id, "name": "look", "input": {"q": id}} for id in ids]
        said = [{"type": "text", "text": text(dice)}, *uses] if dice.random() < 0.3 else ""
        return [
            {"type": "ai", "content": said, "tool_calls": calls},
            *(
                {"type": "tool", "content": text(dice), "tool_call_id": id}
                for id in results_of(dice, ids, sound=sound)
            ),
        ]


class PydanticAI(Writer):
    """The first request has the system prompt and the question, as pydantic-ai writes it."""

    def system(self, dice: Random) -> Conversation:
        prompt = {"part_kind": "system-prompt", "content": text(dice)}
        question = {"part_kind": "user-prompt", "content": text(dice)}
        return [{"kind": "request", "parts": [prompt, question]}]

    def user(self, dice: Random) -> Conversation:
        said: Any = text(dice)
        if dice.random() < 0.2:
            said = [said, {"kind": "image-url", "url": "https://example.com/a.png"}]
        return [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": said}]}]

    def answer(self, dice: Random) -> Conversation:
        thought = {"part_kind": "thinking", "content": text(dice)}
        said = {"part_kind": "text", "content": text(dice)}
        return [{"kind": "response", "parts": [thought, said] if dice.random() < 0.3 else [said]}]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        calls = [
            {
                "part_kind": "tool-call",
                "tool_name": "look",
                "args": dice.choice(({"q": id}, '{"q": 1}', None)),
                "tool_call_id": id,
            }
            for id in ids
        ]
        done = [
            {
                "part_kind": "tool-return",
                "tool_name": "look",
                "content": dice.choice((text(dice), {"said": text(dice)}, [text(dice)])),
                "tool_call_id": id,
            }
            for id in results_of(dice, ids, sound=sound)
        ]
        done = asked_beside(dice, done, {"part_kind": "user-prompt", "content": text(dice)})
        asked = [{"kind": "response", "parts": calls}]
        return [*asked, {"kind": "request", "parts": done}] if done else asked


class Bedrock(Writer):
    def user(self, dice: Random) -> Conversation:
        blocks: list[Any] = [{"text": text(dice)}]
        if dice.random() < 0.1:
            blocks.append({"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}})
        return [{"role": "user", "content": blocks}]

    def answer(self, dice: Random) -> Conversation:
        thought = {"reasoningContent": {"reasoningText": {"text": text(dice), "signature": "c2k="}}}
        said = {"text": text(dice)}
        return [
            {"role": "assistant", "content": [thought, said] if dice.random() < 0.3 else [said]}
        ]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        uses = [{"toolUse": {"toolUseId": id, "name": "look", "input": {"q": id}}} for id in ids]
        done = [
            {
                "toolResult": {
                    "toolUseId": id,
                    "content": [dice.choice(({"text": text(dice)}, {"json": {"a": text(dice)}}))],
                }
            }
            for id in results_of(dice, ids, sound=sound)
        ]
        done = asked_beside(dice, done, {"text": text(dice)})
        asked = [{"role": "assistant", "content": uses}]
        return [*asked, {"role": "user", "content": done}] if done else asked


class Gemini(Writer):
    """Its calls have no ids; a result names its tool."""

    def user(self, dice: Random) -> Conversation:
        parts: list[Any] = [{"text": text(dice)}]
        if dice.random() < 0.1:
            parts.append({"inlineData": {"mimeType": "image/png", "data": PIXEL}})
        return [{"role": "user", "parts": parts}]

    def answer(self, dice: Random) -> Conversation:
        return [{"role": "model", "parts": [{"text": text(dice)}]}]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        names = [dice.choice(("look", "find")) for _ in call_ids(dice, at)]
        ids = [f"{name}{n}" for n, name in enumerate(names)]
        with_ids = dice.random() < 0.3
        calls = [
            {"functionCall": {"name": id[:4], "args": {"q": 1}, **({"id": id} if with_ids else {})}}
            for id in ids
        ]
        done = [
            {"functionResponse": {"name": id[:4], "response": {"output": text(dice)}}}
            for id in results_of(dice, ids, sound=sound)
        ]
        done = asked_beside(dice, done, {"text": text(dice)})
        asked = [{"role": "model", "parts": calls}]
        return [*asked, {"role": "user", "parts": done}] if done else asked


class Interface(Writer):
    """The AI SDK's messages of a user interface: calls and their results are in one message."""

    def system(self, dice: Random) -> Conversation:
        return [{"id": "s", "role": "system", "parts": [{"type": "text", "text": text(dice)}]}]

    def user(self, dice: Random) -> Conversation:
        file = {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PIXEL}"}
        parts = [{"type": "text", "text": text(dice)}, *([file] if dice.random() < 0.1 else [])]
        return [{"id": f"u{dice.random()}", "role": "user", "parts": parts}]

    def answer(self, dice: Random) -> Conversation:
        parts = [{"type": "step-start"}, {"type": "text", "text": text(dice), "state": "done"}]
        thought = {"type": "reasoning", "text": text(dice)}
        parts += [thought] if dice.random() < 0.3 else []
        return [{"id": f"a{dice.random()}", "role": "assistant", "parts": parts}]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        done = set(ids) if sound else set(ids[1:])
        parts = []
        for id in ids:
            part = {"type": "tool-look", "toolCallId": id, "input": {"q": id}}
            answered = {"state": "output-available", "output": {"said": text(dice)}}
            parts.append({**part, **(answered if id in done else {"state": "input-available"})})
        return [{"id": f"t{dice.random()}", "role": "assistant", "parts": parts}]


class Ollama(Writer):
    """Its calls have no ids; a result names its tool."""

    def system(self, dice: Random) -> Conversation:
        return [{"role": "system", "content": text(dice)}]

    def user(self, dice: Random) -> Conversation:
        image = {"images": [PIXEL]} if dice.random() < 0.1 else {}
        return [{"role": "user", "content": text(dice), **image}]

    def answer(self, dice: Random) -> Conversation:
        thought = {"thinking": text(dice)} if dice.random() < 0.3 else {}
        return [{"role": "assistant", "content": text(dice), **thought}]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = [f"{dice.choice(('look', 'find'))}{n}" for n, _ in enumerate(call_ids(dice, at))]
        calls = [{"function": {"name": id[:4], "arguments": {"q": 1}}} for id in ids]
        return [
            {"role": "assistant", "content": "", "tool_calls": calls},
            *(
                {"role": "tool", "content": text(dice), "tool_name": id[:4]}
                for id in results_of(dice, ids, sound=sound)
            ),
        ]


class Step(NamedTuple):
    """A message as the API's rules see it."""

    speaker: str
    calls: Counter[str]
    results: Counter[str]


def langchain_step(message: Any) -> Step:
    calls = Counter(call["id"] for call in message.get("tool_calls") or ())
    kind = message.get("type") or {"user": "human"}[message["role"]]
    return Step(kind, calls, Counter(filter(None, [message.get("tool_call_id")])))


def pydantic_step(message: Any) -> Step:
    by_kind: dict[str, Counter[str]] = {"tool-call": Counter(), "tool-return": Counter()}
    for part in message["parts"]:
        if part["part_kind"] in by_kind:
            by_kind[part["part_kind"]][part["tool_call_id"]] += 1
    return Step(message["kind"], by_kind["tool-call"], by_kind["tool-return"])


def bedrock_step(message: Any) -> Step:
    blocks = message["content"]
    calls = Counter(block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block)
    results = (block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block)
    return Step(message["role"], calls, Counter(results))


def gemini_step(message: Any) -> Step:
    parts = message["parts"]
    calls = Counter(part["functionCall"]["name"] for part in parts if "functionCall" in part)
    results = (p["functionResponse"]["name"] for p in parts if "functionResponse" in p)
    return Step(message["role"], calls, Counter(results))


def interface_step(message: Any) -> Step:
    tools = [part for part in message["parts"] if part["type"].startswith("tool-")]
    waiting = (part["toolCallId"] for part in tools if not part["state"].startswith("output"))
    return Step(message["role"], Counter(waiting), Counter())


def ollama_step(message: Any) -> Step:
    calls = Counter(call["function"]["name"] for call in message.get("tool_calls") or ())
    return Step(message["role"], calls, Counter(filter(None, [message.get("tool_name")])))


def rule(
    step_of: Callable[[Any], Step], *, first: str = "", alternates: bool = False
) -> Callable[[Sequence[Any], Sequence[Any]], str]:
    """The rule that the results of a message's calls follow it directly.

    `first`: who must speak first. `alternates`: two messages of one speaker must not follow each
    other.
    """

    def refused(sent: Sequence[Any], whole: Sequence[Any]) -> str:
        steps = [step_of(message) for message in sent]
        if first and (not steps or steps[0].speaker != first):
            return f"the first message is not that of the {first}"
        waiting: Counter[str] = Counter()
        before = ""
        for speaker, calls, results in steps:
            if alternates and speaker == before:
                return "two messages in a row of one speaker"
            if not results <= waiting:
                return "a result without its call"
            waiting -= results
            if not results and waiting:
                return "a call without its result"
            waiting += calls
            before = speaker
        return "a call without its result" if waiting else ""

    return refused


OTHER_FORMATS = {
    "langchain": Format(LangChain(), rule(langchain_step)),
    "pydantic-ai": Format(PydanticAI(), rule(pydantic_step, first="request")),
    "bedrock": Format(Bedrock(), rule(bedrock_step, first="user", alternates=True)),
    "gemini": Format(Gemini(), rule(gemini_step, first="user")),
    "ai sdk": Format(Interface(), rule(interface_step)),
    "ollama": Format(Ollama(), rule(ollama_step)),
}
