"""Builds the service from the settings: chooses the implementations and connects them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kefu.auth.client_keys import ClientKeys
from kefu.bootstrap.access import Access, build_access
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.constants import CONSTANTS, SAMPLE, Constants
from kefu.bootstrap.knowledge import Calls, Pages, learnt_pages
from kefu.bootstrap.lifecycle import Lifecycle
from kefu.bootstrap.options import allowance, prompt_policy, web_options
from kefu.bootstrap.readiness import Readiness
from kefu.bootstrap.relay import BuiltRelay, build_relay
from kefu.bootstrap.secrets import SecretReader
from kefu.bootstrap.stores import capacity_of, open_store
from kefu.bootstrap.upstream import ChosenModel, choose_model
from kefu.chat.admission import Admission
from kefu.chat.completion import Chat
from kefu.chat.summaries import Summaries
from kefu.settings import Settings, unknown_variables
from kefu.stores.guarded.store import GuardedStore
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.web.app import Application, AppParts, create_app
from kefu.web.log import RequestLog
from kefu.web.routes.site import NOT_BUILT, health_of, widget_is_built
from kefu.web.runtime import ChatRuntime
from kefu.web.schemas import Health, LearntPages

if TYPE_CHECKING:
    from kefu.bootstrap.handoff import Deliveries
    from kefu.bootstrap.panel import OperatorPanel
    from kefu.sessions.service import SessionService


class Service(NamedTuple):
    """A running service: the application, and the operations of its process."""

    app: Application
    close: Callable[[], bool]
    """Refuse new requests and end the running answers. Returns False the second time."""
    disconnect: Callable[[], Awaitable[None]]
    """Close every connection before a snapshot is taken. The next use opens new ones."""
    reconnect: Callable[[], None]
    """After a snapshot was restored: connect early, and seed the random numbers of this copy."""


class _Common(NamedTuple):
    """The parts that most of the functions below use."""

    settings: Settings
    constants: Constants
    clock: SystemClock
    log: RequestLog
    model: ChosenModel
    store: GuardedStore
    reader: SecretReader
    notices: list[str]
    """Messages for the operator; they are logged when the service starts."""


class _Chats(NamedTuple):
    """The parts that answer chats."""

    relay: BuiltRelay
    admission: Admission
    chat: Chat
    turns: SessionService | None
    """The service of stored chats; None if they are disabled."""
    pages: Pages | None
    """The learnt pages of the site; None if there is no file of them."""
    contact: Deliveries | None
    """The contact form; None if there is none."""


def build(
    settings: Settings, open_files: int | None = None, constants: Constants = CONSTANTS
) -> Service:
    """Build the application for these settings. Its lifespan opens connections and files.

    `open_files` is the maximum number of open files of this process; None: unlimited.
    Raises ConfigurationError.
    """
    common = _common(settings, constants)
    chats = _chats(common, open_files)
    access = build_access(common.reader, constants.bot_check_url, _panel(common, chats))
    references = [*chats.relay.references, *access.references()]
    lifecycle = _lifecycle(common, chats, access, references)
    runtime = ChatRuntime(
        chats.chat,
        chats.admission,
        common.log,
        lifecycle.prefetch,
        access.bot_check.check,
        chats.pages.grounder if chats.pages else None,
    )
    app = create_app(_app_parts(common, chats, access, references, runtime, lifecycle))
    return Service(app, runtime.close, lifecycle.disconnect, lifecycle.reconnect)


def _common(settings: Settings, constants: Constants) -> _Common:
    clock = SystemClock()
    log = RequestLog(
        clock,
        level=settings.log_level,
        style="text" if sys.stderr.isatty() else "json",
        secrets=settings.secrets,
        metrics=settings.lambda_function,
    )
    notices = [sentence for _, sentence in unknown_variables()]
    return _Common(
        settings,
        constants,
        clock,
        log,
        choose_model(settings),
        open_store(settings, clock, log, constants),
        SecretReader(settings, clock.now, log),
        notices if widget_is_built() else [*notices, NOT_BUILT],
    )


def _chats(common: _Common, open_files: int | None) -> _Chats:
    settings, constants, clock = common.settings, common.constants, common.clock
    model, say = common.model, common.notices.append
    relay = build_relay(common.reader, model, common.store.cooldowns, clock, constants)
    limits = allowance(settings, say, open_files, constants)
    admission = Admission(common.store.limits, clock, limits)
    summaries = Summaries(relay.for_summaries, admission, model.name, clock)
    calls = Calls(relay.for_summaries, admission, clock)
    policy = prompt_policy(settings, model.name, say, constants)
    turns = _stored_chats(common, summaries)
    return _Chats(
        relay,
        admission,
        Chat(relay.relay, policy, model.name, clock, summaries),
        turns,
        learnt_pages(settings, model, calls, common.log.notice),
        _contact(common, turns),
    )


# Modules for optional features are imported only when they are enabled: it keeps cold starts short.


def _stored_chats(common: _Common, summaries: Summaries) -> SessionService | None:
    if not common.store.sessions:
        return None
    from kefu.bootstrap.sessions import kept_chats

    return kept_chats(
        common.settings,
        common.constants,
        common.store.sessions,
        common.model,
        common.clock,
        common.log,
        summaries.write,
        common.notices.append,
    )


def _contact(common: _Common, turns: SessionService | None) -> Deliveries | None:
    if not common.store.contacts:
        return None
    from kefu.bootstrap.handoff import deliveries

    settings, constants, store = common.settings, common.constants, common.store.contacts
    if turns:
        capacity = turns.deps.capacity
    else:
        capacity = capacity_of(settings, constants, store, common.clock, common.log)
    return deliveries(
        settings,
        store,
        common.store.limits,
        common.clock,
        common.log,
        capacity,
        turns.deps.hooks if turns else None,
    )


def _panel(common: _Common, chats: _Chats) -> OperatorPanel | None:
    if not common.settings.has_panel:
        return None
    from kefu.bootstrap.panel import Keys, operator_panel

    store = common.store
    return operator_panel(
        common.reader,
        Keys(chats.relay.pools, store.cooldowns, common.clock),
        store.limits,
        store.sessions,
        common.model.name,
        chats.turns.deps.capacity if chats.turns else None,
        chats.contact.handoff if chats.contact else None,
        chats.pages.file if chats.pages else None,
    )


def _lifecycle(
    common: _Common, chats: _Chats, access: Access, references: Sequence[ReferencedKeys]
) -> Lifecycle:
    return Lifecycle(
        common.log,
        common.notices,
        common.settings,
        common.store,
        chats.relay.upstreams,
        references,
        access.bot_check.verifier,
        chats.chat,
        chats.turns,
        chats.pages,
        chats.contact,
    )


def _app_parts(
    common: _Common,
    chats: _Chats,
    access: Access,
    references: Sequence[ReferencedKeys],
    runtime: ChatRuntime,
    lifecycle: Lifecycle,
) -> AppParts:
    pools, store, clock = chats.relay.pools, common.store.store, common.clock
    pages = chats.pages.file if chats.pages else None
    return AppParts(
        options=web_options(common.settings, common.constants),
        runtime=runtime,
        clock=clock,
        health=partial(_health, common, chats),
        problems=Readiness(
            pools, references, store, clock.now, common.model.notice, pages
        ).problems,
        start=lifecycle.start,
        stop=lifecycle.stop,
        identities=access.users.identities,
        origin_secret=access.origin.check,
        client_keys=ClientKeys(common.settings.client_keys),
        turns=chats.turns,
        panel=access.panel.panel if access.panel else None,
        contact=chats.contact,
    )


def _health(common: _Common, chats: _Chats) -> Health:
    model = common.model
    has_keys = any(pool.keys for pool in chats.relay.pools)
    capacity = chats.turns.deps.capacity if chats.turns else None
    if capacity:  # widgets that learn here that the store is full send no message to refresh it
        capacity.prefetch()
    return health_of(
        keys=has_keys,
        keys_refused=all(pool.all_refused for pool in chats.relay.pools),
        model=model.name,
        upstream=model.kind,
        notice="" if has_keys and model.kind == "remote" else model.notice,
        sessions=capacity is not None,
        full=capacity is not None and not capacity.keeps_new_chats,
        pages=_learnt(chats.pages, common.settings) if chats.pages else None,
    )


def _learnt(pages: Pages, settings: Settings) -> LearntPages:
    facts, sample = pages.file.facts, Path(settings.knowledge).name == SAMPLE
    return {"pages": facts.pages, "made": int(facts.made), "sample": sample}
