"""`kefu replay FILE`: a session again, as it happened, at the pace it had."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from kefu.cli.clean import clean
from kefu.cli.screen import Screen, Terminal
from kefu.events import (
    Assistant,
    Error,
    Event,
    Final,
    Interrupt,
    Log,
    Tried,
    TurnEnd,
    TurnStart,
    read_lines,
)
from kefu.react import Splitter, TurnError, TurnResult
from kefu.react import replay as paced

LONGEST = 3.0
"""Seconds of waiting shown at most: nobody watches somebody think of a question."""


def replay(file: Path, speed: float) -> int:
    """The exit code. `speed` 0 shows all of it at once."""
    try:
        with file.open("rb") as lines:
            log = read_lines(lines)
    except OSError as error:
        sys.stderr.write(f"kefu: {file}: {error.strerror}\n")
        return 1
    if not log.events:
        sys.stderr.write(f"kefu: {file} is no session's log\n")
        return 1
    try:
        asyncio.run(_show(log, speed))
    except KeyboardInterrupt:
        return 130
    for notice in log.notices:
        sys.stderr.write(f"kefu: {clean(notice)}\n")
    return 0


async def _show(log: Log, speed: float) -> None:
    left = asyncio.Event()
    show = Retelling(Terminal(sys.stdout, sys.stderr, left.set))
    for pause, event in paced(log):
        if left.is_set():
            return
        if speed > 0 and pause:
            await asyncio.sleep(min(pause, LONGEST) / speed)
        show.event(event)


class Retelling:
    """Shows logged events as they were shown when they happened."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._answer = ""
        self._tried: tuple[Tried, ...] = ()

    def event(self, event: Event) -> None:
        screen = self._screen
        match event.body:
            case TurnStart(content=text):
                self._answer, self._tried = "", ()
                screen.say(f"> {text}", "bold")
            case Assistant(content=text):
                splitter = Splitter()
                for piece in (*splitter.feed(text), *splitter.close()):
                    screen.piece(piece)
            case Final(content=text) | Interrupt(content=text):
                self._answer = text
            case Error(attempts=tried):
                self._tried = tried
            case TurnEnd() as end:
                screen.over(_result(end, self._answer, self._tried))
            case _:
                pass
        screen.hear(event)


def _result(end: TurnEnd, answer: str, tried: tuple[Tried, ...]) -> TurnResult:
    message = end.error_message
    error = TurnError(end.error_code or "", message, tried) if message else None
    return TurnResult(answer, (), end.status, end.tokens, error)
