"""What the events of one streamed chat completion mean, and whether it came to its end.

Format: the OpenAI API reference, "The chat completion chunk object".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, cast

from kefu.lean_typing import NamedTuple
from kefu.sse import Event

Json = Mapping[str, object]


class MalformedChunk(ValueError):
    """The upstream sent something that is no chunk of a chat completion."""


class InBandError(Exception):
    """The upstream reported an error inside its stream."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"in-band error, like HTTP {status}")
        self.status = status
        self.body = body


class Chunk(NamedTuple):
    text: str
    """The chunk as JSON on one line. Its parsed form is not kept: it is ten times as large."""
    has_choices: bool
    """False for a chunk that only reports usage."""


class Usage(NamedTuple):
    """Tokens, as the upstream counted them."""

    prompt: int
    completion: int


def _no_constant(name: str) -> NoReturn:
    raise MalformedChunk(f"{name} is not JSON")


# Without `decode`, whose two searches for white space cost as much as the scan itself.
_scan = json.JSONDecoder(parse_constant=_no_constant).raw_decode


class Completion:
    """Reads the events of one answer; afterwards knows how it ended.

    Chunks keep the upstream's fields. Missing `id`, `object`, `created` and `model` are filled in,
    and every chunk carries the `id` of the first. What needs no change leaves as it came; all else
    is written anew, in ASCII.
    """

    def __init__(self, fallback_id: str, model: str, created: int) -> None:
        self.id = ""
        self.model = model
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.done = False
        self._fallback_id = fallback_id
        self.created = created

    def read(
        self, event: Event, hear: Callable[[Sequence[object]], None] | None = None
    ) -> Chunk | None:
        """The chunk in an event; None for what needs no passing on. `hear` is told its choices.

        Raises MalformedChunk and InBandError.
        """
        data = event.data
        if self.done or not data:
            return None
        if data == "[DONE]":
            self.done = True
            return None
        body = _parse(data)
        if body.get("error") or event.event == "error":
            raise InBandError(error_status(body), body)
        choices = body.get("choices")
        if not isinstance(choices, list):
            return None
        if choices:
            self._note_choice(choices[0])
            if hear:
                hear(choices)
        if usage := body.get("usage"):
            self._note_usage(usage)
        if (
            body.get("id") == self.id
            and body.get("object") == "chat.completion.chunk"
            and "model" in body
            and "created" in body
            and _is_plain(data)
        ):
            return Chunk(data, bool(choices))
        return Chunk(self._normalised(body), bool(choices))

    def _note_choice(self, choice: object) -> None:
        if not isinstance(choice, dict) or not isinstance(choice.get("delta", choice), dict):
            raise MalformedChunk("a choice without a delta")
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            self.finish_reason = reason

    def _note_usage(self, usage: object) -> None:
        if isinstance(usage, dict):
            prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
            if isinstance(prompt, int) and isinstance(completion, int):
                self.usage = Usage(prompt, completion)

    def _normalised(self, body: Json) -> str:
        if not self.id:
            first = body.get("id")
            self.id = first if isinstance(first, str) and first else self._fallback_id
            self.model = str(body.get("model") or self.model)
        whole = {
            **body,
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": body.get("created", self.created),
            "model": body.get("model") or self.model,
        }
        # ASCII, so that no line break of any kind and no lone surrogate can leave.
        return json.dumps(whole, separators=(",", ":"))


def _is_plain(data: str) -> bool:
    """Nothing in it ends a line for any client or could drive a terminal, and no printable ASCII
    hides behind an escape, as a key could.
    """
    return data.isprintable() and ("\\" not in data or not ("\\u00" in data or "\\/" in data))


def _parse(data: str) -> Json:
    data = data.strip(" \t\r\n")
    try:
        body, end = _scan(data)
    except (ValueError, RecursionError) as error:
        raise MalformedChunk("not JSON") from error
    if end != len(data) or not isinstance(body, dict):
        raise MalformedChunk("not one JSON object")
    return cast(Json, body)


_STATUS_WORDS = (
    ("context_length", 400),
    ("rate_limit", 429),
    ("too_many", 429),
    ("quota", 429),
    ("overloaded", 503),
    ("invalid_api_key", 401),
    ("authentication", 401),
    ("permission", 403),
    ("invalid_request", 400),
)


def error_status(body: Json) -> int:
    """The HTTP status that an error object in a body stands for; 503 when it does not say."""
    error = body.get("error")
    fields = error if isinstance(error, dict) else body
    for name in ("code", "status", "status_code"):
        value = fields.get(name)
        text = str(value) if isinstance(value, int | str) else ""
        if text.isdecimal() and len(text) == 3 and 400 <= int(text) < 600:
            return int(text)
    words = f"{fields.get('code')} {fields.get('type')}".lower()
    return next((status for word, status in _STATUS_WORDS if word in words), 503)


class Collected:
    """Chunks put together to one `chat.completion`, for clients that do not stream."""

    def __init__(self) -> None:
        self._text: dict[str, list[str]] = {}
        self._tool_calls: dict[int, dict[str, object]] = {}

    def add(self, chunk: Chunk) -> str:
        """The chunk's part of the content."""
        if not chunk.has_choices:
            return ""
        choices = cast(list[Json], _parse(chunk.text)["choices"])
        delta = cast(Json, choices[0].get("delta") or {})
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            part = delta.get(name)
            if isinstance(part, str):
                self._text.setdefault(name, []).append(part)
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
        return "".join(self.content_parts)

    @property
    def content_parts(self) -> Sequence[str]:
        """The text, piece by piece as it came."""
        return self._text.get("content", ())

    @property
    def anything(self) -> bool:
        """Whether the model has said anything, if only in thought."""
        return any(part.strip() for parts in self._text.values() for part in parts)

    @property
    def tool_calls(self) -> Sequence[tuple[str, str]]:
        """Of each call the function's name and its arguments, in the order of the calls."""
        functions = (cast(Json, call["function"]) for _, call in sorted(self._tool_calls.items()))
        return [(str(called["name"]), str(called["arguments"])) for called in functions]

    def response(self, completion: Completion) -> dict[str, object]:
        """The whole answer in the shape of `POST /v1/chat/completions` without streaming."""
        message: dict[str, object] = {"role": "assistant", "content": ""}
        for name, parts in self._text.items():
            message[name] = "".join(parts)
        if self._tool_calls:
            message["tool_calls"] = [call for _, call in sorted(self._tool_calls.items())]
        whole: dict[str, object] = {
            "id": completion.id,
            "object": "chat.completion",
            "created": completion.created,
            "model": completion.model,
            "choices": [
                {"index": 0, "message": message, "finish_reason": completion.finish_reason}
            ],
        }
        if usage := completion.usage:
            whole["usage"] = {
                "prompt_tokens": usage.prompt,
                "completion_tokens": usage.completion,
                "total_tokens": usage.prompt + usage.completion,
            }
        return whole
