"""Finds a key in an answer that says it piece by piece, before the last of its pieces is let out.

An upstream that echoes a request may put the key into any text of its chunks, cut anywhere. While a
text ends as the key begins nobody can tell yet: that is the one moment at which to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

SHORTEST: Final = 8
"""Characters. A shorter key is no secret but part of ordinary text; so is so short a beginning of
one, which is mostly the same for everybody's (`sk-`), and nobody waits for it.
"""

_DEEPEST: Final = 16
"""Steps into the JSON of a delta: nobody puts a text together that lies deeper."""

Place = tuple[object, ...]
"""Of a text in the choices; texts at the same place continue each other."""


class Echo:
    """Hears the choices of every chunk of an answer, in their order."""

    def __init__(self, secret: str) -> None:
        """`secret`: of `SHORTEST` characters or more."""
        self._secret = secret
        self._first = secret[0]
        self._begun: dict[Place, str] = {}
        """The beginning of the key that a text ends with, where it does."""
        self.heard = False
        """One of the texts holds the whole key."""
        self.suspects = False
        """That, or one ends as the key begins, if only with its first letter."""

    @property
    def begun(self) -> int:
        """Characters of the key that a text ends with; 0 for fewer than `SHORTEST`."""
        longest = max(map(len, self._begun.values()), default=0) if self._begun else 0
        return longest if longest >= SHORTEST else 0

    def hear(self, choices: Sequence[object]) -> None:
        """Costs less than a microsecond a chunk: most pieces do not even hold the first letter."""
        first, begun = self._first, self._begun
        for choice in choices:
            if isinstance(choice, dict) and isinstance(delta := choice.get("delta"), dict):
                for name, part in delta.items():
                    if isinstance(part, str):
                        if begun or first in part:
                            self._hear(part, (_index(choice), name))
                    elif part:
                        self._search(part, (_index(choice), name))

    def _search(self, value: object, place: Place) -> None:
        if isinstance(value, str):
            self._hear(value, place)
        elif isinstance(value, dict) and len(place) < _DEEPEST:
            for name, part in value.items():
                self._search(part, (*place, name))
        elif isinstance(value, list) and len(place) < _DEEPEST:
            for part in value:
                # Tool calls say which they are; parts of a content follow each other.
                self._search(part, (*place, _index(part)))

    def _hear(self, piece: str, place: Place) -> None:
        text = self._begun.pop(place, "") + piece
        self.heard = self.heard or self._secret in text
        at = text.find(self._first, max(0, len(text) - len(self._secret) + 1))
        while at >= 0 and not self._secret.startswith(text[at:]):
            at = text.find(self._first, at + 1)
        if at >= 0:
            self._begun[place] = text[at:]
        self.suspects = self.heard or bool(self._begun)


def _index(value: object) -> int | None:
    index = value.get("index") if isinstance(value, dict) else None
    return index if isinstance(index, int) else None
