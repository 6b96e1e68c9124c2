"""The parts of the terminal chat: what `assembly` is to the service."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from kefu.answer import Patience
from kefu.cli.arguments import ChatFlags
from kefu.cli.logs import found
from kefu.cli.talk import Hearing, WrongUse
from kefu.context import message_counter
from kefu.errors import HistoryUnavailable, TiktokenMissing, UnknownCounter
from kefu.events import HistorySink, Log, SessionId, new_session_id
from kefu.keypool import KeyPool
from kefu.model import ChosenModel, choose_model
from kefu.policy import patience
from kefu.react import (
    AgentDeps,
    AgentOptions,
    AgentSession,
    BudgetAction,
    Resumed,
    TokenLimits,
    ToolPolicy,
    create_agent_session,
    fork,
    resume,
)
from kefu.relay import Relay
from kefu.settings import ConfigurationError, Settings, load
from kefu.stores.jsonl import JsonlHistorySink
from kefu.stores.legacy_xml import LegacyXmlSink
from kefu.stores.memory import MemoryStore
from kefu.stores.session_logs import beside, logs_at, sink_at
from kefu.stores.sqlite_history import SqliteHistorySink
from kefu.stores.stream_sink import StreamSink
from kefu.system_clock import SystemClock
from kefu.tokens import counter as counter_of
from kefu.tools import TOOLS, Tool, Workplace, tools_for
from kefu.upstream.kefu_server import KefuServer
from kefu.upstream.public_web import PublicWeb


class TerminalChat:
    """A `Talk`: sessions one after the other, with one model."""

    def __init__(self, flags: ChatFlags, hearing: Hearing) -> None:
        """Raises WrongUse, with a sentence for whoever called."""
        self._flags = flags
        self._hearing = hearing
        self._clock = SystemClock()
        settings = _settings(flags)
        chosen = _chosen(flags, settings, hearing.status)
        self._upstream = chosen.upstream
        self.model = chosen.name
        self.notice = chosen.notice if chosen.kind != "remote" or not settings.keys else ""
        if flags.server:
            self.notice = ""
        self.tools = _tools(flags, self._clock, chosen.kind)
        self.logs = logs_at(flags.log_dir)
        self._relay = Relay(
            chosen.upstream,
            KeyPool(settings.keys if chosen.kind == "remote" and not flags.server else ("local",)),
            MemoryStore(self._clock.now),
            self._clock,
            _patience(settings),
            max_retries=settings.max_retries,
            cooldown=settings.cooldown,
        )
        self._deps = _deps(flags, settings, self._relay, hearing, self.tools)
        self._options = _options(flags, settings, self.model)
        self._open_logs: dict[SessionId, JsonlHistorySink | SqliteHistorySink] = {}

    async def warm(self) -> None:
        """Raises WrongUse where the local model does not come up."""
        try:
            await self._upstream.warm()
        except RuntimeError as error:
            raise WrongUse(str(error)) from error

    async def aclose(self) -> None:
        await self._upstream.aclose()

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


def new_id() -> SessionId:
    return new_session_id(SystemClock().now(), os.urandom(10))


def _settings(flags: ChatFlags) -> Settings:
    try:
        settings = load()
        changed = {
            "model": flags.model,
            "upstream_url": flags.base_url,
            "system_prompt": flags.system,
        }
        aliases = {name: Settings.model_fields[name].alias or name for name in changed}
        given = {aliases[name]: value for name, value in changed.items() if value is not None}
        if given:
            whole = settings.model_dump(by_alias=True, exclude_unset=True) | given
            settings = Settings.model_validate(whole)
    except ConfigurationError as error:
        raise WrongUse(f"the configuration is wrong.\n{error}") from error
    except ValueError as error:
        raise WrongUse("--base-url is not a URL such as https://api.example.com/v1") from error
    return settings


def _chosen(flags: ChatFlags, settings: Settings, say: Callable[[str], None]) -> ChosenModel:
    if flags.server:
        parts = urlsplit(flags.server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongUse(f"{flags.server!r} is not an address such as https://chat.example.com")
        return ChosenModel(KefuServer(flags.server), "remote", flags.server, "")
    return choose_model(settings, say)


def _patience(settings: Settings) -> Patience:
    """No widget's timers run here: unless limits were set, a slow model may take its time."""
    told = patience(settings)
    if settings.model_fields_set & {"try_timeout", "first_byte_budget", "first_event_timeout"}:
        return told
    return replace(
        told,
        first_byte_budget=30.0,
        first_event_timeout=60.0,
        first_event_budget=90.0,
        max_duration=max(600.0, told.max_duration),
    )


def _tools(flags: ChatFlags, clock: SystemClock, kind: str) -> Mapping[str, Tool]:
    # The small local model gets lost in the rules for tools: it answers better without them.
    wanted = flags.tools or ("none" if kind != "remote" else None)
    if flags.server or wanted == "none":
        return {}
    names = [name.strip() for name in (wanted or ",".join(TOOLS)).split(",") if name.strip()]
    if unknown := [name for name in names if name not in TOOLS]:
        raise WrongUse(f"there is no tool {unknown[0]}; there are: {', '.join(TOOLS)}")
    hosts = frozenset(host.lower() for host in flags.allow_host)
    if not hosts and flags.tools is None:
        names.remove("http_get")  # nothing that it could fetch
    place = Workplace(Path.cwd(), clock.now, PublicWeb().get, hosts)
    return {tool.name: tool for tool in tools_for(place, names)}


def _deps(
    flags: ChatFlags,
    settings: Settings,
    relay: Relay,
    hearing: Hearing,
    tools: Mapping[str, Tool],
) -> AgentDeps:
    name = f"tiktoken:{flags.tokenizer_model}" if flags.tokenizer_model else settings.counter
    try:
        counter = message_counter(name)
    except (UnknownCounter, TiktokenMissing) as error:
        raise WrongUse(str(error)) from error
    if flags.tokenizer_model and counter_of(name).approximate:
        hearing.warn(f"The tokenizer of {flags.tokenizer_model} is not known: counts are estimates")
    return AgentDeps(
        relay=relay,
        clock=SystemClock(),
        new_id=new_id,
        counter=counter,
        counter_name=name,
        tools=tools,
        on_event=hearing.event,
        on_piece=hearing.piece,
        warn=hearing.warn,
        approve=hearing.approve if flags.approve else None,
    )


def _options(flags: ChatFlags, settings: Settings, model: str) -> AgentOptions:
    action: BudgetAction = flags.budget_action or "reject"  # type: ignore[assignment]
    policy: ToolPolicy = flags.tool_policy  # type: ignore[assignment]
    return AgentOptions(
        model=model,
        mode="once" if flags.once else "interactive",
        system_prompt="" if flags.server else settings.system_prompt,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        max_steps=flags.max_steps,
        limits=TokenLimits(flags.max_prompt_tokens, flags.warn_prompt_tokens, action),
        tool_policy=policy,
        working_directory=str(Path.cwd()),
    )
