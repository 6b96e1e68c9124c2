"""A model to talk with, its sessions and where they are kept."""

from __future__ import annotations

import sys
from dataclasses import replace

from kefu.cli.arguments import ChatFlags
from kefu.cli.logs import found
from kefu.cli.talk import Hearing, WrongUse
from kefu.errors import HistoryUnavailable
from kefu.events import HistorySink, Log, SessionId
from kefu.keypool import KeyPool
from kefu.react import AgentSession, Resumed, create_agent_session, fork, resume
from kefu.relay import Relay
from kefu.stores.jsonl import JsonlHistorySink
from kefu.stores.legacy_xml import LegacyXmlSink
from kefu.stores.memory import MemoryStore
from kefu.stores.session_logs import beside, logs_at, sink_at
from kefu.stores.sqlite_history import SqliteHistorySink
from kefu.stores.stream_sink import StreamSink
from kefu.system_clock import SystemClock
from kefu.terminal.choices import (
    deps_of,
    model_of,
    options_of,
    patience_of,
    rest_of,
    settings_of,
    tools_of,
)
from kefu.terminal.keys import KeptKeys


class TerminalChat:
    """A `Talk`: sessions one after the other, with one model."""

    def __init__(self, flags: ChatFlags, hearing: Hearing) -> None:
        """Raises WrongUse, with a sentence for whoever called."""
        self._flags = flags
        self._hearing = hearing
        self._clock = SystemClock()
        settings = settings_of(flags)
        self._chosen = model_of(flags, settings, hearing.status)
        self.model = self._chosen.name
        remote = self._chosen.kind == "remote" and not flags.server
        self._pool = KeyPool(settings.keys if remote else ("local",))
        self._kept_keys = (
            KeptKeys(settings, self._pool, self._clock.now)
            if remote and settings.keys_from
            else None
        )
        self.tools = tools_of(flags, self._clock, self._chosen.kind)
        self.logs = logs_at(flags.log_dir)
        relay = Relay(
            self._chosen.upstream,
            self._pool,
            MemoryStore(self._clock.now),
            self._clock,
            patience_of(settings),
            keys_ready=self._kept_keys.ready if self._kept_keys else None,
            max_retries=settings.max_retries,
            cooldown=rest_of(settings),
        )
        self._deps = deps_of(flags, settings, relay, hearing, self.tools)
        self._options = options_of(flags, settings, self.model)
        self._open_logs: dict[SessionId, JsonlHistorySink | SqliteHistorySink] = {}

    @property
    def notice(self) -> str:
        answers = self._chosen.kind == "remote" and self._pool.keys
        return "" if answers else self._chosen.notice

    async def warm(self) -> None:
        """Raises WrongUse where the local model does not come up, and where keys that are kept
        elsewhere cannot be read.
        """
        if self._kept_keys:
            await self._kept_keys.ready()
            if not self._pool.keys and (trouble := self._kept_keys.trouble):
                raise WrongUse(f"KEFU_KEYS_FROM leads to no key: {trouble}")
        try:
            await self._chosen.upstream.warm()
        except RuntimeError as error:
            raise WrongUse(str(error)) from error

    async def aclose(self) -> None:
        if self._kept_keys:
            await self._kept_keys.aclose()
        await self._chosen.upstream.aclose()

    async def end(self, session: AgentSession, reason: str) -> None:
        await session.close(reason)
        if log := self._open_logs.pop(session.id, None):
            log.close()

    def open(self, session_id: SessionId, resume_id: str | None = None) -> AgentSession:
        """A new session of this name, or the one that is asked for here or by the flags."""
        try:
            past = self._past(session_id, resume_id)
            session_id = past.session_id if past else session_id
            sinks = self._opened(session_id)
        except (HistoryUnavailable, ValueError) as error:
            raise WrongUse(str(error)) from error
        deps = replace(self._deps, new_id=lambda: session_id, history_sinks=sinks)
        return create_agent_session(deps, replace(self._options, resumed=past))

    def log_of(self, session_id: SessionId) -> str | None:
        return None if self._flags.no_log else self.logs.place(session_id)

    def _past(self, new_id: SessionId, resume_id: str | None) -> Resumed | None:
        flags = self._flags
        wanted = resume_id or flags.resume
        if flags.continue_ and not resume_id:
            wanted = next(iter(self.logs.ids()), None)
            if wanted is None:
                raise WrongUse(f"there is no session in {flags.log_dir} to go on with")
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
        log = self.logs.read(found(self.logs, ending))
        for notice in log.notices:
            self._hearing.warn(notice)
        return log

    def _opened(self, session_id: SessionId) -> list[HistorySink]:
        flags = self._flags
        sinks: list[HistorySink] = []
        if flags.json:
            sinks.append(StreamSink(sys.stdout.buffer, self._hearing.gone))
        if not flags.no_log:
            log = sink_at(flags.log_dir, session_id)
            self._open_logs[session_id] = log
            sinks.append(log)
            if flags.xml:
                sinks.append(LegacyXmlSink(beside(flags.log_dir, "history.xml")))
        return sinks
