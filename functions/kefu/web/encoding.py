"""Encodes the parts of an answer as server-sent events."""

from __future__ import annotations

from typing import Literal

from kefu.chat.state import SourcesFound, SourcesUsed
from kefu.relay.chunks import Chunk, chunk_of


def encoded(chunks: list[Chunk], wants_usage: bool) -> bytes:
    """Encode the chunks of one upstream read, for a single write.

    `wants_usage`: whether chunks that only report usage are included.
    """
    shown = [f"data: {one.text}\n\n" for one in chunks if wants_usage or one.has_choices]
    return "".join(shown).encode()


def encoded_sources(
    event: SourcesFound | SourcesUsed, wanted: bool | Literal["text", "passages"]
) -> bytes:
    """The event for clients that asked for sources. It has no choices, as one with usage.

    Clients that get the sources as text learn only that a question was not answered.
    """
    if wanted == "text" and isinstance(event, SourcesUsed) and not event.answered:
        return _event({"answered": False})
    if wanted not in {True, "passages"}:
        return b""
    if isinstance(event, SourcesFound):
        found = [one._asdict() for one in event.sources]
        if wanted is True:
            for one in found:
                del one["text"]
        body: dict[str, object] = {"sources": found, "links": list(event.links)}
    else:
        body = {"used": list(event.numbers), "answered": event.answered}
    return _event(body)


def _event(sources: dict[str, object]) -> bytes:
    text = chunk_of({"object": "kefu.sources", "choices": [], **sources}).text
    return f"data: {text}\n\n".encode()
