"""The only place that chooses implementations: settings in, a running application's parts out."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from kefu.admission import Admission
from kefu.chat import Chat
from kefu.keypool import KeyPool
from kefu.lean_typing import NamedTuple
from kefu.model import StartableUpstream, choose_model
from kefu.policy import allowance, patience, prompt_policy, web_options
from kefu.references import Reading, bot_checking, identities, referenced_keys
from kefu.relay import Relay
from kefu.settings import Settings
from kefu.stores.guarded import GuardedCooldowns, GuardedLimits
from kefu.stores.guarded_store import Guard, GuardedStore, Store
from kefu.stores.memory import MemoryStore
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.summaries import Summaries, SummaryPolicy
from kefu.system_clock import SystemClock
from kefu.upstream.siteverify import SiteVerify
from kefu.web.app import Application, Parts, create_app
from kefu.web.desk import Desk
from kefu.web.log import RequestLog
from kefu.web.routes.site import health_of
from kefu.web.schemas import Health

if TYPE_CHECKING:
    from kefu.sessions import Sessions
    from kefu.turns import Turns


class Service(NamedTuple):
    app: Application
    close: Callable[[], bool]
    """Let nobody new in and end the running answers; False when that was said before."""
    disconnect: Callable[[], Awaitable[None]]
    """Close every connection, as before a snapshot is taken; the next use opens new ones."""
    reconnect: Callable[[], None]
    """After a snapshot was restored: do not wait for the next use, and be unlike other copies."""


def build(settings: Settings) -> Service:
    """The application that these settings describe. Opens nothing yet: its lifespan does."""
    clock = SystemClock()
    log = RequestLog(
        clock,
        level=settings.log_level,
        style=settings.log_format,
        secrets=settings.secrets,
        metrics=settings.lambda_function,
    )
    chosen = choose_model(settings)
    upstream, kind, model = chosen.upstream, chosen.kind, chosen.name
    store = _choose_store(settings, clock)
    guarded = _guard(store, settings, clock, log)
    keys = settings.keys if kind == "remote" else ("local",)
    pool = KeyPool(keys, probe_interval=settings.probe_interval)
    reading = Reading(settings, clock.now, log)
    referenced = referenced_keys(reading, pool)
    relay = Relay(
        upstream,
        pool,
        guarded.cooldowns,
        clock,
        patience(settings),
        keys_ready=referenced.ready if referenced else None,
        max_retries=settings.max_retries,
        cooldown=settings.cooldown,
    )
    admission = Admission(guarded.limits, clock, allowance(settings))
    summaries = Summaries(relay, admission, model, clock, SummaryPolicy(wait=settings.summary_wait))
    notices: list[str] = []
    chat = Chat(relay, prompt_policy(settings, model, notices.append), model, clock, summaries)

    turns = None
    # Here and below, what only some want is loaded only for them: a cold start waits for it.
    if guarded.sessions:
        from kefu.kept_chats import kept_chats

        turns = kept_chats(
            settings, guarded.sessions, chosen, clock, log, summaries.write, notices.append
        )
    verifier, bot_check, secret = bot_checking(reading)
    panel = admin_secret = None
    if settings.has_panel:
        from kefu.admin import Keys, operator_panel

        panel, admin_secret = operator_panel(
            reading, Keys(pool, guarded.cooldowns, clock), guarded.limits, guarded.sessions, model
        )
    known = identities(reading)
    references = [one for one in (referenced, secret, admin_secret, known.secrets) if one]
    life = _Life(
        log, upstream, guarded, references, verifier, chat, turns, notices, settings.snapshot
    )

    def health() -> Health:
        keys = bool(pool.keys)
        said = "" if keys and kind == "remote" else chosen.notice
        return health_of(
            keys=keys, model=model, upstream=kind, notice=said, sessions=turns is not None
        )

    desk = Desk(chat, admission, log, life.prefetch, bot_check)
    parts = Parts(
        options=web_options(settings),
        desk=desk,
        clock=clock,
        health=health,
        start=life.start,
        stop=life.stop,
        identities=known.identities,
        turns=turns,
        panel=panel,
    )
    return Service(create_app(parts), desk.close, life.disconnect, life.reconnect)


class _Life(NamedTuple):
    """What is opened at the start and closed at the end."""

    log: RequestLog
    upstream: StartableUpstream
    store: GuardedStore
    references: Sequence[ReferencedKeys]
    verifier: SiteVerify
    chat: Chat
    turns: Turns | None
    notices: Sequence[str]
    snapshot: bool

    def prefetch(self) -> None:
        self.store.prefetch()
        for reference in self.references:
            reference.prefetch()

    async def start(self) -> None:
        self.store.warm()
        for reference in self.references:
            reference.prefetch()
        threads = (self.log.open, self.chat.warm)
        await asyncio.gather(self.upstream.warm(), *map(asyncio.to_thread, threads))
        for notice in dict.fromkeys(self.notices):
            self.log.notice(notice)
        if self.snapshot:
            await self.disconnect()  # under the Web Adapter nobody says when it is taken
        # What is loaded now lives as long as the process: no collection has to look at it again.
        gc.collect()
        gc.freeze()

    async def stop(self) -> None:
        self.chat.close()
        if self.turns:
            await self.turns.aclose()
        for reference in self.references:
            await reference.aclose()
        await self.upstream.aclose()
        await self.verifier.aclose()
        await self.store.aclose()

    async def disconnect(self) -> None:
        await self.upstream.aclose()
        await self.verifier.aclose()
        await self.store.disconnect()

    def reconnect(self) -> None:
        random.seed()
        self.store.warm()


def _choose_store(settings: Settings, clock: SystemClock) -> Store:
    kind, _, name = settings.store.partition(":")
    if kind == "sqlite":
        from kefu.stores.sqlite import SqliteStore

        return SqliteStore(name.removeprefix("///"), clock.now)
    if kind == "dynamodb":
        from kefu.stores.dynamodb import DynamoStore

        return DynamoStore(name.removeprefix("//"), clock.now)
    return MemoryStore(clock.now)


def _guard(store: Store, settings: Settings, clock: SystemClock, log: RequestLog) -> GuardedStore:
    sessions = _sessions(store, settings) if settings.keeps_chats else None
    if isinstance(store, MemoryStore):
        return GuardedStore(store, store, store, sessions)
    cooldowns = GuardedCooldowns(
        store, clock.now, timeout=settings.store_timeout, on_degraded=log.degraded
    )
    limits = GuardedLimits(
        store,
        MemoryStore(clock.now),
        on_degraded=log.degraded,
        budget_without_store=settings.budget_without_store,
        circuit=cooldowns.circuit,
    )
    guards: list[Guard] = [cooldowns, limits]
    if sessions:
        from kefu.stores.guarded_sessions import GuardedSessions

        sessions = GuardedSessions(sessions, on_degraded=log.degraded)
        guards.append(sessions)
    return GuardedStore(store, cooldowns, limits, sessions, guards)


def _sessions(store: Store, settings: Settings) -> Sessions:
    from kefu.kept_chats import retention

    return store.sessions(retention(settings))
