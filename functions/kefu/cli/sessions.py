"""`kefu sessions …`: lists, shows, exports and removes the sessions of `kefu chat`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

from kefu.agent.events import AgentSessionId, SessionEvent
from kefu.errors import HistoryUnavailable
from kefu.stores.jsonl import SessionLogs, logs_in
from kefu.terminal.clean import clean, one_line
from kefu.terminal.ids import new_id
from kefu.terminal.logs import Form, exported, messages_of, session_ending_in, session_line
from kefu.terminal.pipes import forget_broken_pipes

_CONTEXT_CHARS = 40
"""Characters that are shown before and after a match."""


def run(options: argparse.Namespace) -> int:
    """Run an action of the command. Returns the exit code."""
    logs = SessionLogs(Path(options.log_dir))
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
                return _import(logs, Path(options.file))
            case "rm":
                _remove(logs, options.id)
    except HistoryUnavailable as error:
        _complain(str(error))
        return 1
    except BrokenPipeError:
        pass
    except OSError as error:  # standard output goes to a full disk
        sys.stderr.write(f"kefu: standard output: {error.strerror}\n")
        return 1
    finally:
        forget_broken_pipes()
    return 0


def _list(logs: SessionLogs) -> None:
    for session_id in logs.ids():
        print(session_line(session_id, logs.read(session_id)))


def _show(logs: SessionLogs, ending: str) -> None:
    session_id = session_ending_in(logs, ending)
    log = logs.read(session_id)
    print(clean(exported(session_id, log, "txt")), end="")
    for notice in log.notices:
        sys.stderr.write(f"kefu: {clean(notice)}\n")


def _search(logs: SessionLogs, text: str) -> int:
    """Print the messages that contain the text. Returns 1 if there are none, as grep does."""
    wanted = text.casefold()
    hits = 0
    for session_id in logs.ids():
        for message in messages_of(logs.read(session_id)):
            line = " ".join(message.text.split())
            at = line.casefold().find(wanted)
            if at >= 0:
                hits += 1
                part = line[max(0, at - _CONTEXT_CHARS) : at + len(text) + _CONTEXT_CHARS]
                print(f"{session_id}:{message.turn}  {message.role:<9}  {one_line(part, 200)}")
    return 0 if hits else 1


def _export(logs: SessionLogs, options: argparse.Namespace) -> None:
    session_id = session_ending_in(logs, options.id)
    text = exported(session_id, logs.read(session_id), cast(Form, options.format))
    if not options.output:
        # md and txt are read in the terminal. The JSON formats escape unsafe characters already.
        print(clean(text) if options.format in ("md", "txt") else text, end="")
        return
    try:
        with Path(options.output).open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise HistoryUnavailable(f"{options.output}: {error.strerror}") from error


def _import(logs: SessionLogs, file: Path) -> int:
    """Store a log, or each log of an earlier version's database. Returns 1 if one is left out."""
    found, code = logs_in(file), 0
    if not any(log.events for log in found):
        raise HistoryUnavailable(f"{file} is not the log of a session")
    for log in found:
        for notice in log.notices:
            _complain(notice)
        try:
            print(_kept(logs, log.events))
        except HistoryUnavailable as error:
            _complain(str(error))
            code = 1
    return code


def _kept(logs: SessionLogs, events: tuple[SessionEvent, ...]) -> str:
    """Store a log. A log whose session id is not in Kefu's format gets a new id."""
    if not events:
        raise HistoryUnavailable("a session without a line that can be read is left out")
    try:
        return logs.keep(events[0].session_id, events)
    except HistoryUnavailable as error:
        if "is not the name" not in str(error):
            raise
        session_id = new_id()
        return logs.keep(session_id, _renamed(events, session_id))


def _complain(text: str) -> None:
    sys.stderr.write(f"kefu: {one_line(text, 400)}\n")


def _renamed(
    events: tuple[SessionEvent, ...], session_id: AgentSessionId
) -> tuple[SessionEvent, ...]:
    return tuple(
        replace(event, session_id=session_id, seq=number) for number, event in enumerate(events, 1)
    )


def _remove(logs: SessionLogs, endings: list[str]) -> None:
    for session_id in [session_ending_in(logs, ending) for ending in endings]:
        logs.remove(session_id)
        print(f"Removed: {session_id}")
