"""What tools may reach: one folder, some hosts, a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kefu.lean_typing import Protocol


class Page(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def type(self) -> str:
        """The media type, in lower case and without parameters."""
        ...

    @property
    def body(self) -> bytes: ...

    @property
    def whole(self) -> bool:
        """False when the body is longer than what was asked for."""
        ...

    @property
    def location(self) -> str:
        """Where a redirect points to, else empty."""
        ...


class Fetch(Protocol):
    async def __call__(self, url: str, limit: int) -> Page:
        """GET, without following a redirect; at most `limit` bytes of the body.

        Raises OSError, whose text says why, when there is no answer or the host is not on the
        open Internet.
        """
        ...


@dataclass(frozen=True, slots=True)
class Workplace:
    folder: Path
    """No tool reads outside of it."""
    now: Callable[[], float]
    """Unix time in seconds."""
    fetch: Fetch
    hosts: frozenset[str] = field(default_factory=frozenset)
    """What may be fetched from: `example.com`, or `example.com:8443` for a port of its own."""
