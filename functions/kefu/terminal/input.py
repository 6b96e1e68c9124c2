"""Parses the input of the user: a message, a slash command, or a message of several lines."""

from __future__ import annotations

import asyncio
import threading
from typing import NamedTuple, TextIO

QUOTE_MARK = '"""'


class Command(NamedTuple):
    """A slash command, such as `/save FILE`."""

    name: str
    argument: str


def unfinished(text: str) -> bool:
    """Whether the text starts with three quotes and lacks the three quotes at the end."""
    text = text.strip()
    return text.startswith(QUOTE_MARK) and (len(text) < 6 or not text.endswith(QUOTE_MARK))


def parse_input(text: str) -> str | Command:
    """The command, or the message to send; an empty message is not sent. `//x` sends `/x`."""
    text = text.strip()
    if text.startswith(QUOTE_MARK):
        return text[3:].removesuffix(QUOTE_MARK).strip("\n")
    if text.startswith("//"):
        return text[1:]
    if text.startswith("/"):
        name, _, argument = text[1:].partition(" ")
        return Command(name, argument.strip())
    return text


class Lines:
    """Reads messages from a pipe or a file: one per line, or several lines between `\"\"\"`."""

    def __init__(self, source: TextIO) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        # The event loop's thread pool is not used, because a blocked read would delay the exit.
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._source:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, "")
        except (RuntimeError, OSError, ValueError):  # the event loop or the input was closed
            return

    async def next(self) -> str | None:
        """The next input, unparsed; None at the end."""
        text = await self._lines.get()
        if not text:
            return None
        while unfinished(text) and (line := await self._lines.get()):
            text += line
        return text
