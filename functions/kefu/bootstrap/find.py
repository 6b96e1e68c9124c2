"""Opens the file of learnt pages for `kefu find`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kefu.knowledge.finding import Found
from kefu.stores.sqlite.knowledge.read import KnowledgeFile


def opened(path: Path, limit: int) -> Callable[[str, Sequence[str]], Sequence[Found]]:
    """Return a function that finds at most `limit` passages. Raises CannotRead."""
    file = KnowledgeFile(path)
    return lambda question, before: file.find(question, before, limit)
