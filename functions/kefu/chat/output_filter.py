"""Applies a site's filters to the chunks of an answer before they are sent to the visitor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, cast

from kefu.relay.chunks import TEXT_FIELDS, Chunk, Json, chunk_of
from kefu.relay.collected import Collected


class Filter(Protocol):
    """Changes a text that arrives in pieces. It may hold text back until a later call.

    The filter of a site's hook is asynchronous.
    """

    def feed(self, text: str) -> str | Awaitable[str]:
        """The text to send after the next piece."""
        ...

    def close(self) -> str | Awaitable[str]:
        """The text that was held back, at the end of the answer."""
        ...


class OutputFilter:
    """Filters the chunks of one answer. `text` is the content that was sent so far."""

    def __init__(self, filters: Callable[[str], Sequence[Filter]]) -> None:
        """`filters` creates new filters for a text field of the answer, such as `content`."""
        self.unfiltered = Collected()
        """The answer before filtering."""
        self.chunks = 0
        self._make_filters = filters
        self._filters: dict[str, Sequence[Filter]] = {}
        self._plain = not filters("")
        self._shown: list[str] = []
        self._head: Json = {}

    @property
    def text(self) -> str:
        return "".join(self._shown)

    @property
    def has_text(self) -> bool:
        """Whether the model has sent any text, for example content or reasoning."""
        return self.unfiltered.has_text

    async def feed(self, chunk: Chunk) -> list[Chunk]:
        """The chunks to send after this chunk of the model; none while the text is held back."""
        self.chunks += 1
        if not chunk.has_choices:
            return [chunk]
        before = len(self.unfiltered.content_parts)
        self.unfiltered.add(chunk)
        if self._plain:
            self._shown += self.unfiltered.content_parts[before:]
            return [chunk]
        return await self._filtered(chunk)

    async def close(self) -> list[Chunk]:
        """A chunk with the text that filters hold back when an answer has no finish_reason."""
        rest = {name: text for name in list(self._filters) if (text := await self._rest(name))}
        if not rest:
            return []
        choice = {"index": 0, "delta": rest, "finish_reason": None}
        return [chunk_of({**self._head, "choices": [choice]})]

    async def _filtered(self, chunk: Chunk) -> list[Chunk]:
        body = chunk.body
        self._head = {name: body.get(name) for name in ("id", "object", "created", "model")}
        choice, *others = cast(list[Json], body["choices"])
        delta = cast(Json, choice.get("delta") or {})
        ends = bool(choice.get("finish_reason"))
        shown: dict[str, object] = {n: v for n, v in delta.items() if not _is_text(n, v)}
        for name in TEXT_FIELDS:
            text = await self._through(name, delta.get(name))
            text += await self._rest(name) if ends and name in self._filters else ""
            if text or delta.get(name) == "":
                shown[name] = text
        if not shown and not ends:
            return []
        return [chunk_of({**body, "choices": [{**choice, "delta": shown}, *others]})]

    async def _through(self, name: str, text: object) -> str:
        if not isinstance(text, str) or not text:
            return ""
        if name not in self._filters:
            self._filters[name] = self._make_filters(name)
        for one in self._filters[name]:
            text = await _text(one.feed(text))
        return self._note(name, text)

    async def _rest(self, name: str) -> str:
        """The held text of a field. The output of each filter passes through the next one."""
        rest = ""
        for one in self._filters.pop(name):
            rest = await _text(one.feed(rest)) + await _text(one.close())
        return self._note(name, rest)

    def _note(self, name: str, text: str) -> str:
        if name == "content" and text:
            self._shown.append(text)
        return text


async def _text(filtered: str | Awaitable[str]) -> str:
    return filtered if isinstance(filtered, str) else await filtered


def _is_text(name: str, value: object) -> bool:
    return name in TEXT_FIELDS and isinstance(value, str)
