"""What a person types: a question, a command, or a text of several lines."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TextIO

from kefu.lean_typing import NamedTuple, Protocol

QUOTE = '"""'


class Command(NamedTuple):
    name: str
    argument: str


def unfinished(text: str) -> bool:
    """It begins with three quotes and goes on until three more."""
    text = text.strip()
    return text.startswith(QUOTE) and (len(text) < 6 or not text.endswith(QUOTE))


def meant(text: str) -> str | Command:
    """What is to be sent, empty for nothing, or a command. `//x` sends `/x`."""
    text = text.strip()
    if text.startswith(QUOTE):
        return text[3:].removesuffix(QUOTE).strip("\n")
    if text.startswith("//"):
        return text[1:]
    if text.startswith("/"):
        name, _, argument = text[1:].partition(" ")
        return Command(name, argument.strip())
    return text


class Questions(Protocol):
    async def next(self) -> str | None:
        """What was typed; None at the end. KeyboardInterrupt: Ctrl-C where nothing was."""
        ...


class Lines:
    """Questions from a pipe or a file: a line each, or several between three quotes."""

    def __init__(self, source: TextIO) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        # Not in the loop's pool: a read that never ends must not hold up the end of the process.
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._source:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, "")
        except (RuntimeError, OSError, ValueError):  # the loop has ended, or the input is gone
            return

    async def next(self) -> str | None:
        """The next question as it was written; None at the end."""
        text = await self._lines.get()
        if not text:
            return None
        while unfinished(text) and (line := await self._lines.get()):
            text += line
        return text


def whole_input() -> str:
    """All of standard input, whatever bytes it holds."""
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
