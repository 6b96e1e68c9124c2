"""What a visitor sees of an answer: its chunks, behind the filters that a site has switched on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import cast

from kefu.completion import Chunk, Collected, Json
from kefu.hooks.hook import Filter

_SHOWN = ("content", "reasoning_content", "reasoning", "refusal")
"""The texts of a delta that reach the visitor."""


class Visible:
    """Feed it every chunk once; it returns what may go out, and keeps the text that did."""

    def __init__(self, filters: Callable[[], Sequence[Filter]]) -> None:
        """`filters` makes new ones: each text of a delta has its own."""
        self.came = Collected()
        """The answer as it came."""
        self.chunks = 0
        self._make = filters
        self._filters: dict[str, Sequence[Filter]] = {}
        self._plain = not filters()
        self._shown: list[str] = []
        self._head: Json = {}

    @property
    def text(self) -> str:
        return "".join(self._shown)

    @property
    def anything(self) -> bool:
        """Whether the model has said anything at all, if only in thought."""
        return self.came.anything

    def feed(self, chunk: Chunk) -> list[Chunk]:
        self.chunks += 1
        if not chunk.has_choices:
            return [chunk]
        before = len(self.came.content_parts)
        self.came.add(chunk)
        if self._plain:
            self._shown += self.came.content_parts[before:]
            return [chunk]
        return self._filtered(chunk)

    def close(self) -> list[Chunk]:
        """What is still held back, where an answer ends without saying so."""
        rest = {name: text for name in list(self._filters) if (text := self._rest(name))}
        if not rest:
            return []
        choice = {"index": 0, "delta": rest, "finish_reason": None}
        return [_chunk({**self._head, "choices": [choice]})]

    def _filtered(self, chunk: Chunk) -> list[Chunk]:
        body = cast(dict[str, object], json.loads(chunk.text))
        self._head = {name: body.get(name) for name in ("id", "object", "created", "model")}
        choice = cast(list[dict[str, object]], body["choices"])[0]
        delta = cast(dict[str, object], choice.get("delta") or {})
        ends = bool(choice.get("finish_reason"))
        shown: dict[str, object] = {n: v for n, v in delta.items() if not _is_text(n, v)}
        for name in _SHOWN:
            text = self._through(name, delta.get(name))
            text += self._rest(name) if ends and name in self._filters else ""
            if text or delta.get(name) == "":
                shown[name] = text
        if not shown and not ends:
            return []
        choice["delta"] = shown
        return [_chunk(body)]

    def _through(self, name: str, text: object) -> str:
        if not isinstance(text, str) or not text:
            return ""
        if name not in self._filters:
            self._filters[name] = self._make()
        for one in self._filters[name]:
            text = one.feed(text)
        return self._note(name, text)

    def _rest(self, name: str) -> str:
        """What the filters of one text hold back; what one gives out goes through the next."""
        rest = ""
        for one in self._filters.pop(name):
            rest = one.feed(rest) + one.close()
        return self._note(name, rest)

    def _note(self, name: str, text: str) -> str:
        if name == "content" and text:
            self._shown.append(text)
        return text


def _is_text(name: str, value: object) -> bool:
    return name in _SHOWN and isinstance(value, str)


def _chunk(body: Json) -> Chunk:
    return Chunk(json.dumps(body, separators=(",", ":")), has_choices=True)


def replayed(text: str, id: str, model: str, created: int) -> list[Chunk]:
    """An answer that is there already, as the chunks of a stream."""
    head = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}
    steps: tuple[tuple[Json, str | None], ...] = (
        ({"role": "assistant", "content": ""}, None),
        ({"content": text}, None),
        ({}, "stop"),
    )
    return [
        _chunk({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        for delta, reason in steps
    ]
