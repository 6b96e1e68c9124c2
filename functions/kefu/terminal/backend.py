"""Opens the model of `kefu chat`, and its sessions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from kefu.agent.events import AgentSessionId, HistorySink, Log
from kefu.agent.react import AgentSession, Resumed, create_agent_session, fork, resume
from kefu.bootstrap.clock import SystemClock
from kefu.errors import HistoryUnavailable
from kefu.stores.jsonl import JsonlHistorySink, SessionLogs, StreamSink, xml_path
from kefu.stores.legacy_xml import LegacyXmlSink
from kefu.terminal.flags import ChatFlags, WrongUse, wrong_use
from kefu.terminal.logs import session_ending_in
from kefu.terminal.model import OpenModel
from kefu.terminal.options import (
    Approve,
    deps_of,
    has_tools,
    model_of,
    options_of,
    settings_of,
    sites_tools,
    tools_of,
    workplace_of,
)
from kefu.terminal.screen import Screen
from kefu.tools.tool import Tool
from kefu.upstream.kefu_server import KefuServer


class Backend:
    """The model of the chat and its sessions. Only one session is open at a time."""

    def __init__(
        self,
        flags: ChatFlags,
        screen: Screen,
        *,
        on_progress: Callable[[str], None],
        on_closed: Callable[[], None],
        approve: Approve,
    ) -> None:
        """`on_progress` is called with the progress of a slow operation, `on_closed` if standard
        output was closed. `approve` asks the user. Raises WrongUse.
        """
        self._flags = flags
        self._screen = screen
        self._on_closed = on_closed
        self._clock = SystemClock()
        settings = self._settings = settings_of(flags)
        self._chosen = model_of(flags, settings, on_progress)
        self.model = self._chosen.name
        remote = self._chosen.kind == "remote" and not flags.server
        self._open_model = OpenModel(settings, self._chosen, keys=remote)
        self._workplace = workplace_of(flags, self._clock)
        self.tools: Mapping[str, Tool] = {}
        """Empty before `open_tools`."""
        self._stack = AsyncExitStack()
        self.logs = SessionLogs(Path(flags.log_dir))
        self._deps = deps_of(flags, settings, self._open_model.relay, screen, approve)
        self._options = options_of(flags, settings, self._chosen.sampling)
        self._open_logs: dict[AgentSessionId, JsonlHistorySink] = {}

    @property
    def notice(self) -> str:
        """A notice about the model for the user; empty if there is none."""
        answers = self._chosen.kind == "remote" and self._open_model.pool.keys
        return "" if answers else self._chosen.notice

    async def open_tools(self) -> None:
        """Find the tools of later sessions: the terminal's, and those of kefu.toml.

        Raises WrongUse.
        """
        if has_tools(self._flags, self._chosen.kind):
            of_site = await sites_tools(self._flags, self._settings, self._screen, self._stack)
            self.tools = tools_of(self._flags, self._workplace, of_site)
            self._deps = replace(self._deps, tools=self.tools)

    async def warm(self) -> None:
        """Wait until the model is ready. Raises WrongUse for a failed start or without a key."""
        await self._open_model.warm()

    async def aclose(self) -> None:
        """Release all resources."""
        await self._workplace.processes.aclose()
        await self._stack.aclose()
        await self._open_model.aclose()

    def leave_chat(self) -> None:
        """To be called after turns were removed: the server forgets the turns, too."""
        if isinstance(server := self._chosen.upstream, KefuServer):
            server.forget()

    async def end(self, session: AgentSession, reason: str) -> None:
        """Write the end of the session and release its log, so that it can be resumed."""
        await session.close(reason)
        if log := self._open_logs.pop(session.id, None):
            log.close()

    def open(self, session_id: AgentSessionId, resume_id: str | None = None) -> AgentSession:
        """Open a new session with this id, or resume one. Raises WrongUse.

        `resume_id` is the end of the id of the session to resume; the flags may name it, too.
        """
        with wrong_use(HistoryUnavailable, ValueError):
            past = self._past(session_id, resume_id)
            session_id = past.session_id if past else session_id
            sinks = self._sinks(session_id)
        deps = replace(self._deps, new_id=lambda: session_id, history_sinks=sinks)
        return create_agent_session(deps, replace(self._options, resumed=past))

    def log_of(self, session_id: AgentSessionId) -> str | None:
        """The location of the session's log; None if it is not logged."""
        return None if self._flags.no_log else self.logs.place(session_id)

    def _past(self, new_id: AgentSessionId, resume_id: str | None) -> Resumed | None:
        flags = self._flags
        wanted = resume_id or flags.resume
        if flags.continue_ and not resume_id:
            wanted = next(iter(self.logs.ids()), None)
            if wanted is None:
                raise WrongUse(f"there is no session in {flags.log_dir} to resume")
        if wanted:
            return resume(self._read(wanted))
        if not flags.fork:
            return None
        name, _, turn = flags.fork.partition(":")
        copied = fork(self._read(name), new_id, int(turn) if turn else None)
        if not flags.no_log:
            self.logs.keep(new_id, copied)
            return resume(self.logs.read(new_id))
        return resume(Log(copied, (), len(copied)))

    def _read(self, ending: str) -> Log:
        log = self.logs.read(session_ending_in(self.logs, ending))
        for notice in log.notices:
            self._screen.warn(notice)
        return log

    def _sinks(self, session_id: AgentSessionId) -> list[HistorySink]:
        flags = self._flags
        sinks: list[HistorySink] = []
        if flags.json:
            sinks.append(StreamSink(sys.stdout.buffer, self._on_closed))
        if not flags.no_log:
            folder = Path(flags.log_dir)
            log = JsonlHistorySink(folder, session_id)
            self._open_logs[session_id] = log
            sinks.append(log)
            if flags.xml:
                sinks.append(LegacyXmlSink(xml_path(folder, session_id)))
        return sinks
