"""The log of older programs: one XML file, written anew with every answer. Off unless asked for."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from kefu.errors import HistoryUnavailable
from kefu.events import (
    Action,
    Assistant,
    Body,
    Event,
    Final,
    Observation,
    SessionStart,
    TurnStart,
)

# XML 1.0 has no place for these, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_HEAD, _FOOT = '<?xml version="1.0" encoding="UTF-8"?>\n<history>\n', "</history>\n"


class LegacyXmlSink:
    """`<history>` with a `<message role="…">` for each that was said, in order."""

    def __init__(self, path: Path) -> None:
        """Goes on with the file if it is there: a session that is resumed has one."""
        self._path = path
        self._lines: list[str] = []
        self._new = False
        try:
            before = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise HistoryUnavailable(f"{path}: cannot be read") from error
        self._lines.append(before.removeprefix(_HEAD).removesuffix(_FOOT))

    def append(self, event: Event) -> None:
        if line := _message(event.body):
            self._lines.append(line)
            self._new = True

    async def flush(self) -> None:
        """The file is whole at any moment: a new one takes the place of the old."""
        if self._new:
            await asyncio.to_thread(self._replace, "".join((_HEAD, *self._lines, _FOOT)))
            self._new = False

    def _replace(self, text: str) -> None:
        beside = self._path.with_name(f".{self._path.name}.new")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside.touch(mode=0o600)
            beside.write_text(text, encoding="utf-8")
            beside.replace(self._path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise HistoryUnavailable(f"{self._path}: {error.strerror}") from error


def _message(body: Body) -> str:
    match body:
        case SessionStart(system_prompt=text) if text:
            line = _element("message", text, role="system")
        case TurnStart(content=text, role=role) | Assistant(content=text, role=role):
            line = _element("message", text, role=role)
        case Action(tool=tool, input=given):
            line = _element("action", given, tool=tool)
        case Observation(content=text, tool=name):
            line = _element("observation", text, tool=name or "")
        case Final(content=text):
            line = _element("final", text)
        case _:
            line = ""
    return line


def _element(name: str, text: str, **attributes: str) -> str:
    given = "".join(f" {key}={quoteattr(_clean(value))}" for key, value in attributes.items())
    return f"  <{name}{given}>{escape(_clean(text))}</{name}>\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
