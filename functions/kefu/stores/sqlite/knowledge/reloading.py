"""The file of learnt pages in a running server, which takes a new file while it answers."""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kefu.knowledge.finding import Found
from kefu.stores.sqlite.knowledge.read import Facts, KnowledgeFile
from kefu.stores.sqlite.knowledge.schema import CannotRead

LOOK_AFTER = 10.0
"""Seconds between two looks at the file."""

Version = tuple[int, int, int]


class ReloadingKnowledge:
    """Implements `Knowledge`. All work on the file runs in one thread, off the event loop."""

    def __init__(
        self, path: Path, monotonic: Callable[[], float], on_fault: Callable[[str], None]
    ) -> None:
        """Raises CannotRead. `on_fault` receives why a newer file cannot be used."""
        self._path = path
        self._monotonic = monotonic
        self._on_fault = on_fault
        self._file = KnowledgeFile(path)
        self._version = _version(path)
        self._looked = monotonic()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kefu-knowledge")

    @property
    def facts(self) -> Facts:
        return self._file.facts

    @property
    def languages(self) -> Sequence[str]:
        return self._file.languages

    async def find(self, question: str, before: Sequence[str], limit: int) -> Sequence[Found]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._find, question, before, limit)

    async def problems(self) -> Sequence[tuple[str, str]]:
        """The pages that failed in the last run, each with the reason."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._problems)

    def _problems(self) -> Sequence[tuple[str, str]]:
        self._look()
        try:
            return self._file.problems()
        except sqlite3.Error as error:
            self._on_fault(f"{self._path} is damaged: {type(error).__name__}")
            return []

    def close(self) -> None:
        self._thread.shutdown()
        self._file.close()

    def _find(self, question: str, before: Sequence[str], limit: int) -> Sequence[Found]:
        self._look()
        try:
            return self._file.find(question, before, limit)
        except (sqlite3.Error, zlib.error, LookupError, TypeError, ValueError) as error:
            # A damaged file must not end a chat: it is answered without passages.
            self._on_fault(f"{self._path} is damaged: {type(error).__name__}")
            return []

    def _look(self) -> None:
        """Open the file again if it was replaced. A file that cannot be used changes nothing."""
        now = self._monotonic()
        if now < self._looked + LOOK_AFTER:
            return
        self._looked = now
        version = _version(self._path)
        if version in {self._version, None}:
            return
        self._version = version
        try:
            newer = KnowledgeFile(self._path)
        except CannotRead as error:
            self._on_fault(f"The learnt pages from before are used. {error}")
            return
        self._file.close()
        self._file = newer


def _version(path: Path) -> Version | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
