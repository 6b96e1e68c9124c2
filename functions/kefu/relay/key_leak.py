"""Detects an API key in a streamed answer, so that the relay can stop before it is complete.

A broken upstream can echo the request's key in any text field, split anywhere over its chunks. The
relay therefore holds chunks back while a text ends with a prefix of the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MIN_KEY_SIZE: Final = 8
"""Characters. A shorter key would match ordinary text. A prefix of a key that is shorter than this
is harmless, because most keys begin with the same characters (`sk-`).
"""

_MAX_DEPTH: Final = 16
"""Levels of JSON in a delta; clients do not concatenate texts at deeper levels."""

TextPath = tuple[object, ...]
"""The position of a text in the choices; a client concatenates texts with the same path."""


class KeyLeakDetector:
    """Searches the texts of an answer for a key; `feed` takes the choices of each chunk."""

    def __init__(self, secret: str) -> None:
        """`secret` must have at least `MIN_KEY_SIZE` characters."""
        self._secret = secret
        self._first = secret[0]
        self._prefixes: dict[TextPath, str] = {}
        """The prefix of the key with which each text ends."""
        self.found = False
        """Whether one of the texts contains the complete key."""
        self.suspicious = False
        """Whether a text contains the key or ends with a prefix of it, even of one character."""

    @property
    def prefix_length(self) -> int:
        """Characters of the longest prefix that a text ends with; 0 below `MIN_KEY_SIZE`."""
        longest = max(map(len, self._prefixes.values()), default=0) if self._prefixes else 0
        return longest if longest >= MIN_KEY_SIZE else 0

    def feed(self, choices: Sequence[object]) -> None:
        """Search the choices of the next chunk.

        Most texts do not contain the key's first character; they are skipped, to save time.
        """
        first, prefixes = self._first, self._prefixes
        for choice in choices:
            if isinstance(choice, dict) and isinstance(delta := choice.get("delta"), dict):
                for name, part in delta.items():
                    if isinstance(part, str):
                        if prefixes or first in part:
                            self._feed_text(part, (_index(choice), name))
                    elif part:
                        self._walk(part, (_index(choice), name))

    def _walk(self, value: object, path: TextPath) -> None:
        if isinstance(value, str):
            self._feed_text(value, path)
        elif isinstance(value, dict) and len(path) < _MAX_DEPTH:
            for name, part in value.items():
                self._walk(part, (*path, name))
        elif isinstance(value, list) and len(path) < _MAX_DEPTH:
            for part in value:
                # Tool calls have an `index`. Content parts, without one, continue each other.
                self._walk(part, (*path, _index(part)))

    def _feed_text(self, piece: str, path: TextPath) -> None:
        text = self._prefixes.pop(path, "") + piece
        self.found = self.found or self._secret in text
        at = text.find(self._first, max(0, len(text) - len(self._secret) + 1))
        while at >= 0 and not self._secret.startswith(text[at:]):
            at = text.find(self._first, at + 1)
        if at >= 0:
            self._prefixes[path] = text[at:]
        self.suspicious = self.found or bool(self._prefixes)


def _index(value: object) -> int | None:
    index = value.get("index") if isinstance(value, dict) else None
    return index if isinstance(index, int) else None
