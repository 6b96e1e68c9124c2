"""Random conversations in the format of each API, and the rules by which the API refuses one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from kefu.context import Message, ToolCall

Conversation = list[Any]

WORDS = (
    "refund",
    "order 42",
    "你好，订单在哪里",
    "naïve café",
    "😀😀",
    '{"a": 1}',
    "x = y + 1",
    "заказ",
)
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def text(dice: Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randrange(1, 9)))


def call_ids(dice: Random, at: int) -> list[str]:
    return [f"call_{at}_{n}" for n in range(dice.choice((1, 1, 2, 4)))]


def asked_beside(dice: Random, done: Conversation, part: Any) -> Conversation:
    """The results of a message; sometimes the user asks for something else in the same message."""
    return [*done, part] if done and dice.random() < 0.2 else done


def results_of(dice: Random, ids: list[str], *, sound: bool) -> list[str]:
    """The calls that get a result, in any order; with an error unless `sound`."""
    ids = dice.sample(ids, len(ids))
    if sound:
        return ids
    return dice.choice(([], ids[1:], [*ids, "call_unknown"], [*ids, ids[0]]))


class Writer:
    """Writes the parts of a conversation in one format."""

    def system(self, dice: Random) -> Conversation:
        return []

    def user(self, dice: Random) -> Conversation:
        raise NotImplementedError

    def answer(self, dice: Random) -> Conversation:
        raise NotImplementedError

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        raise NotImplementedError


class Chat(Writer):
    """OpenAI's chat completions, with additional fields of compatible APIs."""

    def system(self, dice: Random) -> Conversation:
        return [{"role": dice.choice(("system", "developer")), "content": text(dice)}]

    def user(self, dice: Random) -> Conversation:
        url = f"data:image/png;base64,{PIXEL}"
        parts = [
            {"type": "text", "text": text(dice)},
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        ]
        content = parts if dice.random() < 0.1 else text(dice)
        return [
            {"role": "user", "content": content, **({"name": "Ann"} if dice.random() < 0.1 else {})}
        ]

    def answer(self, dice: Random) -> Conversation:
        extra = {"reasoning_content": text(dice), "x_unknown": {"a": [1]}}
        return [
            {
                "role": "assistant",
                "content": text(dice),
                **(extra if dice.random() < 0.2 else {}),
            }
        ]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        calls = [
            {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for id in ids
        ]
        return [
            {"role": "assistant", "content": None, "tool_calls": calls},
            *(
                {"role": "tool", "tool_call_id": id, "content": text(dice)}
                for id in results_of(dice, ids, sound=sound)
            ),
        ]


class Anthropic(Writer):
    def user(self, dice: Random) -> Conversation:
        image = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        blocks = [
            {"type": "text", "text": text(dice), "cache_control": {"type": "ephemeral"}},
            {"type": "image", "source": image},
        ]
        return [{"role": "user", "content": blocks if dice.random() < 0.1 else text(dice)}]

    def answer(self, dice: Random) -> Conversation:
        blocks = [
            {"type": "thinking", "thinking": text(dice), "signature": "c2lnbmF0dXJl"},
            {"type": "text", "text": text(dice)},
        ]
        return [{"role": "assistant", "content": blocks if dice.random() < 0.3 else text(dice)}]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        uses = [{"type": "tool_use", "id": id, "name": "look", "input": {"q": id}} for id in ids]
        done = [
            {
                "type": "tool_result",
                "tool_use_id": id,
                "content": dice.choice((text(dice), [{"type": "text", "text": text(dice)}])),
            }
            for id in results_of(dice, ids, sound=sound)
        ]
        thought = {"type": "thinking", "thinking": text(dice), "signature": "c2lnbmF0dXJl"}
        split = len(done) > 1 and dice.random() < 0.2
        more = asked_beside(dice, done[1:] if split else done, {"type": "text", "text": text(dice)})
        groups = [done[:1], more] if split else [more]
        return [
            {"role": "assistant", "content": [thought, *uses]},
            *({"role": "user", "content": group} for group in groups if group),
        ]


class Responses(Writer):
    def system(self, dice: Random) -> Conversation:
        return [{"role": "developer", "content": text(dice)}]

    def user(self, dice: Random) -> Conversation:
        if dice.random() < 0.5:
            return [{"role": "user", "content": text(dice)}]
        parts = [{"type": "input_text", "text": text(dice)}]
        return [{"type": "message", "role": "user", "content": parts}]

    def answer(self, dice: Random) -> Conversation:
        parts = [{"type": "output_text", "text": text(dice), "annotations": []}]
        answer = {
            "type": "message",
            "id": f"msg_{dice.randrange(10**9)}",
            "role": "assistant",
            "status": "completed",
            "content": parts,
        }
        if dice.random() < 0.1:
            return [{"role": "assistant", "content": text(dice)}]
        return [*self._thought(dice), answer]

    def _thought(self, dice: Random) -> Conversation:
        if dice.random() < 0.5:
            return []
        id = f"rs_{dice.randrange(10**9)}"
        return [{"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAAA" * 20}]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        searched = {"type": "web_search_call", "id": f"ws_{at}", "status": "completed"}
        return [
            *self._thought(dice),
            *([searched] if dice.random() < 0.1 else []),
            *(
                {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}
                for id in ids
            ),
            *(
                {"type": "function_call_output", "call_id": id, "output": text(dice)}
                for id in results_of(dice, ids, sound=sound)
            ),
        ]


class Own(Writer):
    def system(self, dice: Random) -> Conversation:
        return [Message("system", text(dice))]

    def user(self, dice: Random) -> Conversation:
        return [Message("user", text(dice), pinned=dice.random() < 0.1)]

    def answer(self, dice: Random) -> Conversation:
        return [Message("assistant", text(dice))]

    def tools(self, dice: Random, at: int, *, sound: bool) -> Conversation:
        ids = call_ids(dice, at)
        return [
            Message("assistant", "", tuple(ToolCall(id, "look", "{}") for id in ids)),
            *(
                Message("tool", text(dice), tool_call_id=id)
                for id in results_of(dice, ids, sound=sound)
            ),
        ]


def conversation(writer: Writer, dice: Random) -> Conversation:
    """It starts with a system prompt and a question, and ends with a question or tool results."""
    whole = [*writer.system(dice), *writer.user(dice)]
    for at in range(dice.randrange(0, 10)):
        kind = dice.random()
        if kind < 0.4:
            whole += [*writer.answer(dice), *writer.user(dice)]
        elif kind < 0.75:
            whole += writer.tools(dice, at, sound=True)
        elif kind < 0.85:
            whole += [*writer.tools(dice, at, sound=False), *writer.user(dice)]
        else:
            whole += writer.user(dice)
    if dice.random() < 0.3:
        whole += writer.tools(dice, 99, sound=True)
    return whole


def refused_chat(sent: Sequence[Any], whole: Sequence[Any]) -> str:
    """OpenAI's rule: all results of a call follow it before any other message."""
    waiting: Counter[str] = Counter()
    for message in sent:
        if isinstance(message, Message):
            role, id = message.role, message.tool_call_id
            ids = [call.id for call in message.tool_calls]
        else:
            role, id = message["role"], message.get("tool_call_id")
            ids = [call["id"] for call in message.get("tool_calls") or ()]
        if role == "tool":
            if waiting[id or ""] < 1:
                return "a result without its call"
            waiting[id or ""] -= 1
        elif waiting.total():
            return "a call without its result"
        else:
            waiting = Counter(ids)
    return "a call without its result" if waiting.total() else ""


def refused_anthropic(sent: Sequence[Any], whole: Sequence[Any]) -> str:
    """Anthropic's rule: consecutive messages of a role are one turn, and the next turn has the
    results.
    """
    turns: list[tuple[str, list[Any]]] = []
    for message in sent:
        blocks = message["content"]
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(blocks)
        else:
            turns.append((message["role"], list(blocks)))
    if not turns or turns[0][0] != "user":
        return "the first message is not the user's"
    waiting: Counter[str] = Counter()
    for _, blocks in turns:
        given = Counter(b["tool_use_id"] for b in blocks if b["type"] == "tool_result")
        if given != waiting:
            return "tool results that are not those of the calls before"
        waiting = Counter(b["id"] for b in blocks if b["type"] == "tool_use")
    return "a call without its result" if waiting.total() else ""


def refused_responses(sent: Sequence[Any], whole: Sequence[Any]) -> str:
    """The Responses API's rule: each call has an output, and reasoning is followed by its item."""
    calls = Counter(i["call_id"] for i in sent if i.get("type") == "function_call")
    outputs = Counter(i["call_id"] for i in sent if i.get("type") == "function_call_output")
    if calls != outputs:
        return "calls and outputs that are no pairs"
    present = {id(item) for item in sent}
    for item, following in pairwise(whole):
        if item.get("type") == "reasoning" and (id(item) in present) != (id(following) in present):
            return "reasoning without its item, or an item without its reasoning"
    seen: set[str] = set()
    for item in sent:
        if item.get("type") == "function_call":
            seen.add(item["call_id"])
        elif item.get("type") == "function_call_output" and item["call_id"] not in seen:
            return "an output before its call"
    return ""


class Format(NamedTuple):
    writer: Writer
    refused: Callable[[Sequence[Any], Sequence[Any]], str]


FORMATS = {
    "chat completions": Format(Chat(), refused_chat),
    "anthropic": Format(Anthropic(), refused_anthropic),
    "responses": Format(Responses(), refused_responses),
    "own": Format(Own(), refused_chat),
}


def problem(api: Format, sent: Sequence[Any], whole: Sequence[Any], *, edits: bool = False) -> str:
    """The error in the trimmed messages of a conversation; empty if there is none.

    With `edits`, tool results may be copies. All other messages must be the given objects.
    """
    where = {id(message): at for at, message in enumerate(whole)}
    positions = []
    for message in sent:
        if id(message) in where:
            positions.append(where[id(message)])
        elif not edits:
            return "not an object that was given"
    if positions != sorted(set(positions)):
        return "the order is not that of the conversation"
    systems = [m for m in whole if role_of(m) in ("system", "developer")]
    if systems and sent[: len(systems)] != systems:
        return "the system prompt is missing"
    question = next(m for m in reversed(whole) if is_question(m))
    if not any(m is question for m in sent) and not any(holds(m, question) for m in sent):
        return "the question is missing"
    return api.refused(sent, whole)


def holds(message: Any, question: Any) -> bool:
    """Whether the message has the question's parts: it was joined from it and others (see
    `alternate`), or is a copy with shorter results.
    """
    if not isinstance(question, dict) or not isinstance(message, dict):
        return False
    content, asked = parts_of(message), parts_of(question)
    if not isinstance(asked, list) or not isinstance(content, list):
        return False
    words = [part for part in asked if not is_result(part)]
    return any(content[at : at + len(words)] == words for at in range(len(content)))


def parts_of(message: Any) -> Any:
    return message.get("parts") or message.get("content")


def is_result(part: Any) -> bool:
    words = ("tool_result", "toolResult", "functionResponse", "-return")
    return any(word in repr(part) for word in words)


def role_of(message: Any) -> str:
    if isinstance(message, Message):
        return message.role
    if "kind" in message:  # pydantic-ai's
        kinds = {part["part_kind"] for part in message["parts"]}
        return "system" if "system-prompt" in kinds else message["kind"].replace("request", "user")
    return str(message.get("role") or message["type"].replace("human", "user"))


def is_question(message: Any) -> bool:
    if role_of(message) != "user":
        return False
    if isinstance(message, Message):
        return True
    parts = parts_of(message)
    return isinstance(parts, str) or not all(map(is_result, parts))


def least_tokens(message: Any) -> int:
    """Tokens of the texts that a writer put into a message, at four bytes a token.

    Found without a knowledge of the format: all texts with a word of `WORDS`.
    """
    tokens = 0
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if any(part.startswith(word) for word in WORDS):
                tokens += -(-len(part.encode()) // 4)
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return tokens
