"""Writes a session's log as XML too, for programs that read the older format. Off by default.

The file is rewritten after every answer. No lock is needed, because a session has one writer.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from kefu.agent.events import (
    Action,
    Assistant,
    EventBody,
    Final,
    Observation,
    SessionEvent,
    SessionStart,
    TurnStart,
)
from kefu.errors import HistoryUnavailable
from kefu.stores.jsonl import unavailable

# Characters that XML 1.0 forbids, even as character references.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_HEAD, _FOOT = '<?xml version="1.0" encoding="UTF-8"?>\n<history>\n', "</history>\n"


class LegacyXmlSink:
    """Writes a `<history>` element with one child element for each event, in order."""

    def __init__(self, path: Path) -> None:
        """Read the existing file, if any, because a resumed session appends to it.

        Raises HistoryUnavailable if the file cannot be read.
        """
        self._path = path
        self._lines: list[str] = []
        self._new = False
        try:
            before = _read(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise unavailable(path, error) from error
        except ValueError as error:
            raise HistoryUnavailable(f"{path}: cannot be read") from error
        self._lines.append(before.removeprefix(_HEAD).removesuffix(_FOOT))

    def append(self, event: SessionEvent) -> None:
        if line := _message(event.body):
            self._lines.append(line)
            self._new = True

    async def flush(self) -> None:
        """Write the file if there are new events. The file is replaced atomically, by a rename."""
        if self._new:
            await asyncio.to_thread(self._replace, "".join((_HEAD, *self._lines, _FOOT)))
            self._new = False

    def _replace(self, text: str) -> None:
        folder = self._path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # `mkstemp` makes a new file with mode 0600, so no symbolic link can redirect it.
            descriptor, temporary = tempfile.mkstemp(".new", f".{self._path.name}.", folder)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                Path(temporary).replace(self._path)
            except BaseException:
                Path(temporary).unlink()
                raise
        except OSError as error:
            raise unavailable(self._path, error) from error


def _read(path: Path) -> str:
    """Read a file. A symbolic link is refused, and a named pipe does not block."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="utf-8") as file:
        return file.read()


def _message(body: EventBody) -> str:
    match body:
        case SessionStart(system_prompt=text) if text:
            line = _element("message", text, role="system")
        case TurnStart(content=text, role=role) | Assistant(content=text, role=role):
            line = _element("message", text, role=role)
        case Action(tool=tool, input=arguments):
            line = _element("action", arguments, tool=tool)
        case Observation(content=text, tool=name):
            line = _element("observation", text, tool=name or "")
        case Final(content=text):
            line = _element("final", text)
        case _:
            line = ""
    return line


def _element(name: str, text: str, **attributes: str) -> str:
    encoded = "".join(f" {key}={quoteattr(_clean(value))}" for key, value in attributes.items())
    return f"  <{name}{encoded}>{escape(_clean(text))}</{name}>\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
