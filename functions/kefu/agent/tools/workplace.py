"""The resources that tools may use: one directory, allowed hosts, a clock, worker processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from kefu.agent.tools.processes import ToolProcesses
from kefu.upstream.web_page import WebPage


@dataclass(frozen=True, slots=True)
class Workplace:
    """The resources that tools may use."""

    folder: Path
    """The working directory. Tools read only files in the workplace."""
    now: Callable[[], float]
    """Unix time in seconds."""
    fetch: Callable[[str, int], Awaitable[WebPage]]
    """Fetches a URL and reads at most so many bytes of the body. Raises OSError with a message."""
    hosts: frozenset[str] = field(default_factory=frozenset)
    """The allowed hosts: `example.com`, or `example.com:8443` for a non-standard port."""
    processes: ToolProcesses = field(default_factory=ToolProcesses)
    """The worker processes. The owner closes the processes after the last tool call."""
