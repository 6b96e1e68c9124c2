"""`kefu sessions …`: what `kefu chat` has kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from kefu.cli.clean import clean, one_line
from kefu.cli.logs import Form, Logs, found, listed, said, written
from kefu.cli.pipes import forget_broken_pipes
from kefu.errors import HistoryUnavailable
from kefu.events import Event, SessionId, read_lines

_AROUND = 40
"""Characters shown on both sides of what was searched for."""


def sessions(options: argparse.Namespace, logs: Logs, new_id: Callable[[], SessionId]) -> int:
    """Do what was asked; the exit code."""
    try:
        match options.action:
            case "list":
                _list(logs)
            case "show":
                _show(logs, options.id)
            case "search":
                return _search(logs, options.text)
            case "export":
                _export(logs, options)
            case "import":
                _import(logs, Path(options.file), new_id)
            case "rm":
                _remove(logs, options.id)
    except HistoryUnavailable as error:
        sys.stderr.write(f"kefu: {one_line(str(error), 400)}\n")
        return 1
    except BrokenPipeError:
        pass
    except OSError as error:  # a full disk behind `>`
        sys.stderr.write(f"kefu: standard output: {error.strerror}\n")
        return 1
    finally:
        forget_broken_pipes()
    return 0


def _list(logs: Logs) -> None:
    for session_id in logs.ids():
        print(listed(session_id, logs.read(session_id)))


def _show(logs: Logs, ending: str) -> None:
    session_id = found(logs, ending)
    log = logs.read(session_id)
    print(clean(written(session_id, log, "txt")), end="")
    for notice in log.notices:
        sys.stderr.write(f"kefu: {clean(notice)}\n")


def _search(logs: Logs, text: str) -> int:
    """1 where nothing was found, as grep has it."""
    wanted = text.casefold()
    hits = 0
    for session_id in logs.ids():
        for message in said(logs.read(session_id)):
            line = " ".join(message.text.split())
            at = line.casefold().find(wanted)
            if at >= 0:
                hits += 1
                part = line[max(0, at - _AROUND) : at + len(text) + _AROUND]
                print(f"{session_id}:{message.turn}  {message.role:<9}  {one_line(part, 200)}")
    return 0 if hits else 1


def _export(logs: Logs, options: argparse.Namespace) -> None:
    session_id = found(logs, options.id)
    text = written(session_id, logs.read(session_id), cast(Form, options.format))
    if not options.output:
        # Prose is for reading here; the other forms are for programs, and hold no such character.
        print(clean(text) if options.format in ("md", "txt") else text, end="")
        return
    try:
        with Path(options.output).open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise HistoryUnavailable(f"{options.output}: {error.strerror}") from error


def _import(logs: Logs, file: Path, new_id: Callable[[], SessionId]) -> None:
    """A log is kept as it is; one of an older program, whose session is named otherwise, gets a
    name of Kefu's.
    """
    try:
        with file.open("rb") as lines:
            log = read_lines(lines)
    except OSError as error:
        raise HistoryUnavailable(f"{file}: {error.strerror}") from error
    if not log.events:
        raise HistoryUnavailable(f"{file} is no session's log")
    session_id = log.events[0].session_id
    try:
        kept = logs.keep(session_id, log.events)
    except HistoryUnavailable as error:
        if "is not the name" not in str(error):
            raise
        session_id = new_id()
        kept = logs.keep(session_id, _renamed(log.events, session_id))
    for notice in log.notices:
        sys.stderr.write(f"kefu: {clean(notice)}\n")
    print(kept)


def _renamed(events: tuple[Event, ...], session_id: SessionId) -> tuple[Event, ...]:
    return tuple(
        replace(event, session_id=session_id, seq=number) for number, event in enumerate(events, 1)
    )


def _remove(logs: Logs, endings: list[str]) -> None:
    for session_id in [found(logs, ending) for ending in endings]:
        logs.remove(session_id)
        print(f"Removed: {session_id}")
