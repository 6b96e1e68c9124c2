"""The resources that tools may use: one directory, allowed hosts, a clock, worker processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kefu.agent.tools.processes import ToolProcesses


class FetchedPage(Protocol):
    """A response to an HTTP request."""

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    @property
    def type(self) -> str:
        """The media type, in lower case and without parameters."""
        ...

    @property
    def body(self) -> bytes:
        """The body, cut at the requested limit."""
        ...

    @property
    def whole(self) -> bool:
        """False if the body was cut at the requested limit."""
        ...

    @property
    def location(self) -> str:
        """The target of a redirect, else empty."""
        ...


class Fetch(Protocol):
    """A function that fetches a URL."""

    async def __call__(self, url: str, limit: int) -> FetchedPage:
        """Send a GET request and read at most `limit` bytes of the body. Follows no redirect.

        Raises OSError with a message for the user if there is no response, or if the host's address
        is not public.
        """
        ...


@dataclass(frozen=True, slots=True)
class Workplace:
    """The resources that tools may use."""

    folder: Path
    """The working directory. Tools read no files outside of it."""
    now: Callable[[], float]
    """Unix time in seconds."""
    fetch: Fetch
    hosts: frozenset[str] = field(default_factory=frozenset)
    """The allowed hosts: `example.com`, or `example.com:8443` for a non-standard port."""
    processes: ToolProcesses = field(default_factory=ToolProcesses)
    """The worker processes. The owner closes them after the last tool call."""
