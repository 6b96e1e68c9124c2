"""Merges the chunks of an answer into one completion, and makes the chunks of a known answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kefu.messages import Message, reasoning_of
from kefu.relay.chunks import TEXT_FIELDS, Chunk, Completion, Json, chunk_of


class Collected:
    """Merges chunks into one `chat.completion`, for responses without streaming."""

    def __init__(self) -> None:
        self.chunks = 0
        """The number of added chunks."""
        self.has_text = False
        """Whether a text, for example `content` or `reasoning`, is more than white space."""
        self._text: dict[str, list[str]] = {}
        self._tool_calls: dict[int, dict[str, object]] = {}

    def add(self, chunk: Chunk) -> str:
        """Add a chunk; returns its `content`, or ""."""
        self.chunks += 1
        if not chunk.has_choices:
            return ""
        choices = cast(list[Json], chunk.body["choices"])
        delta = cast(Json, choices[0].get("delta") or {})
        for name in TEXT_FIELDS:
            part = delta.get(name)
            if isinstance(part, str):
                self._text.setdefault(name, []).append(part)
                self.has_text = self.has_text or bool(part.strip())
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict):
                self._add_tool_call(call)
        content = delta.get("content")
        return content if isinstance(content, str) else ""

    def _add_tool_call(self, delta: Json) -> None:
        index = delta.get("index")
        call = self._tool_calls.setdefault(
            index if isinstance(index, int) else len(self._tool_calls),
            {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
        )
        call["id"] = delta.get("id") or call["id"]
        function = cast(dict[str, str], call["function"])
        part = delta.get("function")
        for name in ("name", "arguments") if isinstance(part, dict) else ():
            function[name] += str(cast(Json, part).get(name) or "")

    @property
    def content(self) -> str:
        return "".join(self._text.get("content", ()))

    @property
    def message(self) -> Message:
        """The text and the reasoning, without the calls."""
        return Message("assistant", self.content, reasoning=reasoning_of(self._texts()))

    def _texts(self) -> dict[str, str]:
        return {name: "".join(parts) for name, parts in self._text.items()}

    @property
    def tool_calls(self) -> Sequence[tuple[str, str]]:
        """`(name, arguments)` of each called function, in the order of the calls."""
        functions = (cast(Json, call["function"]) for _, call in sorted(self._tool_calls.items()))
        return [(str(called["name"]), str(called["arguments"])) for called in functions]

    def response(self, completion: Completion) -> dict[str, object]:
        """The answer as the JSON body of `POST /v1/chat/completions` without streaming."""
        message: dict[str, object] = {"role": "assistant", "content": "", **self._texts()}
        if self._tool_calls:
            message["tool_calls"] = [call for _, call in sorted(self._tool_calls.items())]
        body: dict[str, object] = {
            "id": completion.id,
            "object": "chat.completion",
            "created": completion.created,
            "model": completion.model,
            "choices": [
                {"index": 0, "message": message, "finish_reason": completion.finish_reason}
            ],
        }
        if usage := completion.usage:
            body["usage"] = {
                "prompt_tokens": usage.prompt,
                "completion_tokens": usage.completion,
                "total_tokens": usage.prompt + usage.completion,
            }
        return body


def replayed(text: str, id: str, model: str, created: int) -> list[Chunk]:
    """The chunks of a stream for an answer that needs no request to a model."""
    head = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}
    steps: tuple[tuple[Json, str | None], ...] = (
        ({"role": "assistant", "content": ""}, None),
        ({"content": text}, None),
        ({}, "stop"),
    )
    return [
        chunk_of({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        for delta, reason in steps
    ]
