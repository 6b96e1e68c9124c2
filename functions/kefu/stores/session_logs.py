"""Opens the session logs of the terminal chat: a folder of files, or `sqlite:///FILE`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kefu.agent.events import AgentSessionId, Log, SessionEvent
from kefu.errors import HistoryUnavailable
from kefu.stores.jsonl import JsonlHistorySink, log_path, logged_sessions, read_log, xml_path
from kefu.stores.legacy_xml import LegacyXmlSink
from kefu.stores.sqlite.history import SqliteHistorySink, SqliteLogs

_SQLITE = "sqlite:///"


def logs_at(location: str) -> Logs:
    """Return the logs of a location: the path of a folder, or `sqlite:///FILE`."""
    file = _database(location)
    return SqliteLogs(file) if file else SessionLogs(Path(location))


def sink_at(location: str, session_id: AgentSessionId) -> JsonlHistorySink | SqliteHistorySink:
    """Open the log of a session for writing. Raises HistoryBusy and HistoryUnavailable."""
    file = _database(location)
    if file:
        return SqliteHistorySink(file, session_id)
    return JsonlHistorySink(Path(location), session_id)


def xml_at(location: str, session_id: AgentSessionId) -> LegacyXmlSink:
    """Open the XML log, in the folder of the log or database. Raises HistoryUnavailable."""
    file = _database(location)
    return LegacyXmlSink(xml_path(file.parent if file else Path(location), session_id))


def _database(location: str) -> Path | None:
    return Path(location.removeprefix(_SQLITE)) if location.startswith(_SQLITE) else None


class SessionLogs:
    """The logs in one folder.

    Every method raises HistoryUnavailable with a message that the command line shows.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ids(self) -> Sequence[AgentSessionId]:
        """Return the ids of all sessions, the most recently modified first."""
        return logged_sessions(self._folder)

    def read(self, session_id: AgentSessionId) -> Log:
        return read_log(self._folder, session_id)

    def place(self, session_id: AgentSessionId) -> str:
        """Return the path of a session's log, for display."""
        return str(log_path(self._folder, session_id))

    def keep(self, session_id: AgentSessionId, events: Iterable[SessionEvent]) -> str:
        """Write a new log with these events and return its path.

        Raises HistoryUnavailable if the session already has a log.
        """
        path = log_path(self._folder, session_id)
        if path.exists():
            raise HistoryUnavailable(f"{path} already exists")
        sink = JsonlHistorySink(self._folder, session_id)
        try:
            for event in events:
                sink.append(event)
        finally:
            sink.close()
        return str(path)

    def remove(self, session_id: AgentSessionId) -> None:
        """Delete a session's log and XML file. Raises HistoryBusy if a process has it open."""
        path = log_path(self._folder, session_id)
        if not path.exists():
            raise HistoryUnavailable(f"there is no session {session_id}")
        sink = JsonlHistorySink(self._folder, session_id)
        try:
            path.unlink()
            xml_path(self._folder, session_id).unlink(missing_ok=True)
        except OSError as error:
            raise HistoryUnavailable(f"{path}: {error.strerror}") from error
        finally:
            sink.close()


Logs = SessionLogs | SqliteLogs
