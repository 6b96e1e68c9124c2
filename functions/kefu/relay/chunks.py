"""Turns the events of one streamed chat completion into checked chunks.

The format is described in the OpenAI API reference, "The chat completion chunk object".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn, cast

from kefu.messages import REASONING_FIELDS
from kefu.relay.sse import Event

Json = Mapping[str, object]


TEXT_FIELDS = ("content", *REASONING_FIELDS, "refusal")
"""The fields of a delta that hold text of the model."""


class MalformedChunk(ValueError):
    """The upstream sent an event that is not a chat completion chunk."""


class InBandError(Exception):
    """The upstream reported an error in an event of its stream, after status 200."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"in-band error, like HTTP {status}")
        self.status = status
        self.body = body


class Chunk(NamedTuple):
    text: str
    """The chunk as JSON on one line."""
    has_choices: bool
    """False for a chunk that only reports usage."""
    body: Json
    """The parsed JSON, which takes ten times the memory of `text`; empty if nothing needs it."""


class Usage(NamedTuple):
    """Numbers of tokens, as reported by the upstream or estimated."""

    prompt: int
    completion: int


def _no_constant(name: str) -> NoReturn:
    raise MalformedChunk(f"{name} is not JSON")


# `raw_decode` is faster than `decode`, which also searches for white space at both ends.
_scan = json.JSONDecoder(parse_constant=_no_constant).raw_decode
# `json.dumps` makes an encoder for each call with separators.
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Completion:
    """Reads the events of one answer, and records its finish_reason and usage.

    Chunks keep the upstream's fields. Missing `id`, `object`, `created` and `model` are filled in,
    and every chunk gets the `id` of the first. A content in parts becomes a text and a reasoning.
    The first content gets the role `assistant` if no chunk had a role: OpenAI's JavaScript client
    needs a role. A chunk that needs no change keeps its JSON text; the others are serialized again,
    in ASCII.
    """

    def __init__(
        self,
        fallback_id: str,
        model: str,
        created: int,
        estimate: Callable[[str], int] | None = None,
        *,
        keep_bodies: bool = True,
    ) -> None:
        """`estimate` counts the tokens of a text, for answers whose upstream reports no usage.

        `keep_bodies`: whether chunks carry their parsed JSON. Without bodies a chunk costs less
        memory and less work for the garbage collector.
        """
        self.id = ""
        self.model = model
        self.finish_reason: str | None = None
        self.has_text = False
        """Whether the model has sent any text, reasoning or tool call."""
        self.usage: Usage | None = None
        self.done = False
        self._has_role = False
        self.estimated = 0
        """Estimated tokens received so far: text, reasoning and tool calls."""
        self._estimate = estimate
        self._keep_bodies = keep_bodies
        self._fallback_id = fallback_id
        self.created = created

    def blank(self) -> Completion:
        """A completion of the same request that has read nothing yet."""
        return Completion(
            self._fallback_id,
            self.model,
            self.created,
            self._estimate,
            keep_bodies=self._keep_bodies,
        )

    def read(
        self, event: Event, on_choices: Callable[[Sequence[object]], None] | None = None
    ) -> Chunk | None:
        """The chunk in an event; None for `[DONE]` and for events without a chunk.

        `on_choices` is called with the `choices` of the event, unless they are empty.
        Raises MalformedChunk and InBandError.
        """
        data = event.data
        if self.done or not data:
            return None
        if data.strip() == "[DONE]":
            self.done = True
            return None
        body, changed = _parse(data), False
        if body.get("error") or event.event == "error":
            body, changed = _without_error(body), True
        choices = body.get("choices")
        if choices is None and body.get("usage"):
            body, choices, changed = {**body, "choices": []}, [], True
        if not isinstance(choices, list):
            return None
        if choices:
            changed |= self._note_choice(choices[0])
            if on_choices:
                on_choices(choices)
            changed |= not self._has_role and self._add_role(choices[0])
        if usage := body.get("usage") or (choices and choices[0].get("usage")):
            self._note_usage(usage)
        if (
            not changed
            and body.get("id") == self.id
            and body.get("object") == "chat.completion.chunk"
            and "model" in body
            and "created" in body
            and _is_plain(data)
        ):
            return Chunk(data, bool(choices), body if self._keep_bodies else _NO_BODY)
        chunk = chunk_of(self._normalised(body))
        return chunk if self._keep_bodies else chunk._replace(body=_NO_BODY)

    def _note_choice(self, choice: object) -> bool:
        """Note what a choice says; whether it was changed. Some gateways send `"delta": null`."""
        if changed := isinstance(choice, dict) and choice.get("delta", "") is None:
            choice["delta"] = _NO_BODY
        if not isinstance(choice, dict) or not isinstance(
            delta := choice.get("delta", _NO_BODY), dict
        ):
            raise MalformedChunk("a choice without a delta")
        if isinstance(parts := delta.get("content"), list):
            changed |= _join_parts(delta, parts)
        for name, part in delta.items():
            is_text = name in TEXT_FIELDS and isinstance(part, str)
            if part and (is_text or name == "tool_calls"):
                self.has_text = True
                if self._estimate:
                    self.estimated += self._estimate(part if is_text else json.dumps(part))
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            self.finish_reason = reason
        return changed

    def _add_role(self, choice: dict[str, object]) -> bool:
        """Add the role to the first content if no chunk had a role; whether it was added."""
        delta = cast(Json, choice.get("delta") or {})
        if delta.get("role"):
            self._has_role = True
        elif self.has_text or self.finish_reason:
            choice["delta"] = {**delta, "role": "assistant"}
            self._has_role = True
            return True
        return False

    def _note_usage(self, usage: object) -> None:
        if isinstance(usage, dict):
            prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
            if isinstance(prompt, int) and isinstance(completion, int):
                self.usage = Usage(prompt, completion)

    def _normalised(self, body: Json) -> Json:
        if not self.id:
            first = body.get("id")
            self.id = first if isinstance(first, str) and first else self._fallback_id
            self.model = str(body.get("model") or self.model)
        return {
            **body,
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": body.get("created", self.created),
            "model": body.get("model") or self.model,
        }


_NO_BODY: Json = {}


def _without_error(body: Json) -> Json:
    """A body whose error says nothing, such as `{"code": 0, "message": ""}`. Some gateways send it
    beside each content, and OpenAI's clients take any for a failure. Raises InBandError for others.
    """
    error = body.get("error")
    if not isinstance(error, dict) or any(error.values()):
        raise InBandError(error_status(body), body)
    return {**body, "error": None}


def chunk_of(body: Json) -> Chunk:
    """A chunk with this JSON object."""
    # ASCII, so that the text contains no line break of any kind and no lone surrogate.
    return Chunk(_encode(body), bool(body.get("choices")), body)


def _join_parts(delta: dict[str, object], parts: Sequence[object]) -> bool:
    """Replace a content in parts, as Mistral's models that think send it; whether it was one."""
    if not all(isinstance(part, dict) for part in parts):
        return False
    delta["content"] = _text_of(parts)
    thoughts = (part.get("thinking") for part in parts if isinstance(part, dict))
    if thought := "".join(_text_of(one) for one in thoughts if isinstance(one, list)):
        delta["reasoning_content"] = thought
    return True


def _text_of(parts: Sequence[object]) -> str:
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _is_plain(data: str) -> bool:
    """Whether the JSON text can be passed on unchanged.

    The text must have no line separator and no control character. The text must also have no escape
    of a printable ASCII character, because an escaped key would not be found.
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
    """The HTTP status for an error object in a body, from its code or type; 503 by default."""
    error = body.get("error")
    fields = error if isinstance(error, dict) else body
    for name in ("code", "status", "status_code"):
        value = fields.get(name)
        text = str(value) if isinstance(value, int | str) else ""
        if text.isdecimal() and len(text) == 3 and 400 <= int(text) < 600:
            return int(text)
    words = f"{fields.get('code')} {fields.get('type')}".lower()
    return next((status for word, status in _STATUS_WORDS if word in words), 503)
