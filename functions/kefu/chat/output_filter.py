"""Applies a site's filters to the chunks of an answer before they are sent to the visitor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, cast

from kefu.relay.chunks import TEXT_FIELDS, Chunk, Json, chunk_of
from kefu.relay.collected import Collected


class TextFilter(Protocol):
    """Changes a text that arrives in pieces. A filter may hold text back until a later call.

    The filter of a site's hook is asynchronous.
    """

    def feed(self, text: str) -> str | Awaitable[str]:
        """The text to send after the next piece."""
        ...

    def close(self) -> str | Awaitable[str]:
        """The text that was held back, at the end of the answer."""
        ...


MakeFilters = Callable[[str], Sequence[TextFilter]]
"""Creates new filters for a text field of an answer, such as `content`."""


class OutputFilter:
    """Filters the chunks of one answer. `text` is the content that was sent so far."""

    def __init__(self) -> None:
        self.unfiltered = Collected()
        """The answer of the model, before filtering."""
        self._layers: list[tuple[MakeFilters, Callable[[], str]]] = []
        self._filters: dict[str, list[tuple[TextFilter, Callable[[], str]]]] = {}
        self._shown: list[str] = []
        self._waiting: list[Chunk] = []
        self._head: Json = {}
        """The last chunk, whose fields the chunk of `close` gets."""

    def use(self, layer: MakeFilters, ending: Callable[[], str] = lambda: "") -> None:
        """Add filters behind the existing ones. A layer that makes none adds nothing.

        `ending` returns a text that follows a complete answer.
        """
        if layer(""):
            self._layers.append((layer, ending))

    @property
    def text(self) -> str:
        return "".join(self._shown)

    @property
    def has_text(self) -> bool:
        """Whether the model has sent any text, for example content or reasoning."""
        return self.unfiltered.has_text

    async def next(self, batch: list[Chunk], *, waits: bool, pings: bool) -> list[Chunk] | None:
        """The chunks to send after this batch of the model; an empty list for a ping.

        None when not even a ping is to be sent: if `waits`, unless the batch has the
        model's first text; and without `pings`, while text is held back. An empty batch is a ping.
        """
        for chunk in batch:
            self._waiting += await self.feed(chunk)
        if batch and ((waits and not self.has_text) or not (self._waiting or pings)):
            return None
        shown, self._waiting = self._waiting, []
        return shown

    async def feed(self, chunk: Chunk) -> list[Chunk]:
        """The chunks to send after this chunk of the model; none while the text is held back."""
        content = self.unfiltered.add(chunk)
        if self._layers and chunk.has_choices:
            return await self._filtered(chunk)
        self._shown.append(content)
        return [chunk]

    async def close(self) -> list[Chunk]:
        """A chunk with the text that filters hold back when an answer has no finish_reason."""
        rest = {name: await self._rest(name) for name in list(self._filters)}
        rest = {name: text for name, text in rest.items() if text}
        if not rest:
            return []
        head = {name: self._head.get(name) for name in ("id", "object", "created", "model")}
        choice = {"index": 0, "delta": rest, "finish_reason": None}
        return [chunk_of({**head, "choices": [choice]})]

    async def _filtered(self, chunk: Chunk) -> list[Chunk]:
        body = chunk.body
        choice, *others = cast(list[Json], body["choices"])
        delta = cast(Json, choice.get("delta") or {})
        ends = bool(choice.get("finish_reason"))
        shown = dict(delta)
        for name, given in delta.items():
            if given and name in TEXT_FIELDS and isinstance(given, str):
                shown[name] = await self._through(name, given)
        for name in list(self._filters) if ends else ():
            if rest := await self._rest(name, is_whole=True):
                shown[name] = f"{shown.get(name) or ''}{rest}"
        self._head = body
        if shown == delta:
            return [chunk] if shown or ends else []
        shown = {name: one for name, one in shown.items() if one or delta.get(name) == one}
        if not shown and not ends:
            return []
        return [chunk_of({**body, "choices": [{**choice, "delta": shown}, *others]})]

    async def _through(self, name: str, text: str) -> str:
        if name not in self._filters:
            layers = self._layers
            self._filters[name] = [(one, ending) for make, ending in layers for one in make(name)]
        for one, _ in self._filters[name]:
            text = await _text(one.feed(text))
        return self._note(name, text)

    async def _rest(self, name: str, *, is_whole: bool = False) -> str:
        """The held text of a field. The output of each filter passes through the next one."""
        rest = ""
        for one, ending in self._filters.pop(name):
            rest = await _text(one.feed(rest)) + await _text(one.close())
            if is_whole and name == "content":
                rest += ending()
        return self._note(name, rest)

    def _note(self, name: str, text: str) -> str:
        if name == "content" and text:
            self._shown.append(text)
        return text


async def _text(filtered: str | Awaitable[str]) -> str:
    return filtered if isinstance(filtered, str) else await filtered
