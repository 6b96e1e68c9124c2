"""The file of learnt pages in a running server, which takes a new file while it answers."""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from kefu.knowledge.finding import PassageHit
from kefu.knowledge.pages import PageText
from kefu.stores.sqlite.knowledge.fresh import FreshPages
from kefu.stores.sqlite.knowledge.read import Facts, KnowledgeFile
from kefu.stores.sqlite.knowledge.schema import CannotRead

T = TypeVar("T")

LOOK_AFTER = 10.0
"""Seconds between two looks at the file."""

REFRESH_AFTER = 30.0
"""Seconds between two looks at the original of a copy, such as an object in S3."""

RETRY_AFTER = 5.0
"""Seconds between two attempts while there is no copy."""

PATIENCE_SECONDS = 1.0
"""Seconds that a question waits for a check of the original; then the old copy is used."""

FIRST_PATIENCE = 3.0
"""Seconds that a question waits while there is no copy. This time includes the import of boto3."""

NO_FACTS = Facts(0, 0, 0.0, 0)

Version = tuple[int, int, int]


class Original(Protocol):
    """An original elsewhere, of which the file is a copy."""

    def refresh(self) -> None:
        """Bring the copy up to date. Blocks. Raises OSError with the reason."""
        ...

    def disconnect(self) -> None: ...

    def close(self) -> None: ...


class LocalFile(NamedTuple):
    """A file on this machine as an `Original`, so that it is opened by the first question."""

    path: Path

    def refresh(self) -> None:
        if not self.path.is_file():
            raise FileNotFoundError(f"{self.path} does not exist.")

    def disconnect(self) -> None: ...

    def close(self) -> None: ...


class ReloadingKnowledge:
    """Implements `Knowledge`. All work on the file runs in one thread, off the event loop."""

    def __init__(
        self,
        path: Path,
        monotonic: Callable[[], float],
        on_fault: Callable[[str], None],
        original: Original | None = None,
    ) -> None:
        """Raises CannotRead. `on_fault` receives why a newer file cannot be used.

        With an `original`, the file is read by `load`, or before the first question.
        """
        self._path = path
        self._monotonic = monotonic
        self._on_fault = on_fault
        self._original = original
        self._file = None if original else KnowledgeFile(path)
        self._version = None if original else _version(path)
        self._fresh = FreshPages(path)
        self._looked = monotonic()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kefu-knowledge")
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshed = float("-inf")
        self.trouble = ""
        """The reason why there are no pages; empty if there are pages."""

    def load(self) -> None:
        """Fetch the copy, and open it. Blocks. Raises OSError."""
        if self._original:
            self._original.refresh()
            self._refreshed = self._monotonic()
        self._version, self._file = _version(self._path), KnowledgeFile(self._path)

    async def ready(self, patience: float = FIRST_PATIENCE) -> None:
        """Wait for the copy of an original, for `patience` seconds at most if there is none."""
        if not self._original:
            return
        now = self._monotonic()
        is_idle = self._refreshing is None or self._refreshing.done()
        if is_idle and now >= self._refreshed + REFRESH_AFTER:
            self._refreshed = now
            self._refreshing = asyncio.create_task(self._refresh(self._original))
        if self._refreshing and not self._refreshing.done():
            left = self._refreshed + (PATIENCE_SECONDS if self._file else patience) - now
            await asyncio.wait({self._refreshing}, timeout=max(0.0, left))

    async def _refresh(self, original: Original) -> None:
        try:
            # Searches have another thread, and go on in the old copy.
            await asyncio.to_thread(original.refresh)
        except OSError as error:
            self._failed(str(error))
            return
        await asyncio.get_running_loop().run_in_executor(self._thread, self._take)

    def _failed(self, reason: str) -> None:
        if self._file:
            self._on_fault(f"The learnt pages from before are used. {reason}")
            return
        self.trouble = reason
        self._refreshed += RETRY_AFTER - REFRESH_AFTER
        self._on_fault(f"There are no learnt pages. {reason}")

    @property
    def facts(self) -> Facts:
        return self._file.facts if self._file else NO_FACTS

    @property
    def languages(self) -> Sequence[str]:
        return self._file.languages if self._file else ()

    async def find(self, question: str, before: Sequence[str], limit: int) -> Sequence[PassageHit]:
        return await self._read(lambda file: self._fresh.find(file, question, before, limit))

    async def page(self, address: str) -> Sequence[PassageHit]:
        """All passages of a page, in order: see `KnowledgeFile.page`. Raises nothing."""
        return await self._read(lambda file: self._fresh.page(file, address))

    async def sources(self) -> Sequence[str]:
        """The addresses of the pages of the file."""
        return await self._read(KnowledgeFile.sources)

    @property
    def is_writable(self) -> bool:
        """Whether pages may be added: the file is no copy of an original elsewhere."""
        return self._original is None or isinstance(self._original, LocalFile)

    async def add(self, page: PageText, now: float) -> None:
        """Use a page instead of the file's page of its address. Raises OSError."""
        loop, made = asyncio.get_running_loop(), self.facts.made
        await loop.run_in_executor(self._thread, self._fresh.add, page, now, made)

    async def problems(self) -> Sequence[tuple[str, str]]:
        """The pages that failed in the last run, each with the reason."""
        return await self._read(KnowledgeFile.problems)

    def disconnect(self) -> None:
        if self._original:
            self._original.disconnect()

    async def aclose(self) -> None:
        if self._refreshing:
            await asyncio.wait({self._refreshing})
        self._thread.shutdown()
        if self._file:
            self._file.close()
        if self._original:
            self._original.close()

    async def _read(self, read: Callable[[KnowledgeFile], Sequence[T]]) -> Sequence[T]:
        await self.ready()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._found, read)

    def _found(self, read: Callable[[KnowledgeFile], Sequence[T]]) -> Sequence[T]:
        """What `read` finds in the file; nothing if there is none."""
        self._look()
        try:
            return read(self._file) if self._file else []
        except (sqlite3.Error, zlib.error, LookupError, TypeError, ValueError) as error:
            # A damaged file must not end a chat: it is answered without passages.
            self._on_fault(f"{self._path} is damaged: {type(error).__name__}")
            return []

    def _look(self) -> None:
        now = self._monotonic()
        if not self._original and now >= self._looked + LOOK_AFTER:
            self._looked = now
            self._take()

    def _take(self) -> None:
        """Open a replaced file again. A file that cannot be used changes nothing."""
        version = _version(self._path)
        if version in {self._version, None}:
            return
        self._version = version
        try:
            newer = KnowledgeFile(self._path)
        except CannotRead as error:
            self._failed(str(error))
            return
        if self._file:
            self._file.close()
        self._file, self.trouble = newer, ""


def _version(path: Path) -> Version | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
