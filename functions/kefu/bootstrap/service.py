"""Builds the service from the settings: chooses the implementations and connects them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kefu.auth.client_keys import ClientKeys
from kefu.bootstrap.base import Base
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.constants import CONSTANTS, Constants
from kefu.bootstrap.knowledge import (
    answered_pages,
    build_assistants,
    build_grounder,
    learnt_pages,
    page_learner,
)
from kefu.bootstrap.lifecycle import Lifecycle
from kefu.bootstrap.options import allowance, prompt_policy, web_options
from kefu.bootstrap.readiness import Readiness
from kefu.bootstrap.relay import build_relays
from kefu.bootstrap.secrets import bot_check, identities, origin_secret
from kefu.bootstrap.stores import made_folder, open_store
from kefu.bootstrap.upstream import choose_model
from kefu.chat.admission import Admission
from kefu.chat.completion import Chat
from kefu.chat.services import Services
from kefu.chat.summaries import Summaries
from kefu.settings import ConfigurationError, Settings, unknown_variables
from kefu.web.app import Application, AppParts, create_app
from kefu.web.caller import Gateway
from kefu.web.log import RequestLog
from kefu.web.routes.site import NOT_BUILT, widget_is_built
from kefu.web.running import ChatRuntime

if TYPE_CHECKING:
    from kefu.auth.identity import Identities
    from kefu.bootstrap.relay import Relays
    from kefu.bootstrap.sites import BuiltSites
    from kefu.chat.prompt import PromptPolicy
    from kefu.sessions.people.delivery_runner import DeliveryRunner
    from kefu.sessions.turn.service import SessionService
    from kefu.tools.toolbox import Toolbox
    from kefu.web.admin.panel import Panel
    from kefu.web.traces import Traces


class Service(NamedTuple):
    """A running service: the application, and the operations of its process."""

    app: Application
    close: Callable[[], bool]
    """Refuse new requests and end the running answers. Returns False the second time."""
    disconnect: Callable[[], Awaitable[None]]
    """Close every connection before a snapshot is taken. The next use opens new connections."""
    reconnect: Callable[[], None]
    """After a snapshot was restored: connect early, and seed the random numbers of this copy."""


def build(
    settings: Settings, open_files: int | None = None, constants: Constants = CONSTANTS
) -> Service:
    """Build the application, whose lifespan opens connections and files, for these settings.

    `open_files` is the maximum number of open files of this process; None: unlimited.
    Raises ConfigurationError.
    """
    base = _base(settings, constants)
    model, clock, say = base.model, base.clock, base.notices.append
    relays = build_relays(base)
    limits = allowance(settings, say, open_files, constants)
    admission = Admission(base.store.limits, clock, limits)
    summaries = Summaries(relays.summaries, admission, model.sampling, clock)
    users = identities(base)
    toolbox = _toolbox(base, users)
    policy = prompt_policy(settings, model.name, say, constants, has_tools=bool(toolbox))
    chat = Chat(relays.answers, policy, model.sampling, clock, summaries)
    sessions = _stored_chats(base, summaries, toolbox)
    contact = _contact(base, sessions)
    pages = learnt_pages(base)
    answered = answered_pages(base, pages)
    links = settings.knowledge_links
    grounder = build_grounder(base, answered or pages, relays.summaries, admission, links)
    lifecycle = Lifecycle(base, relays.upstreams, chat, sessions, contact, pages, answered)
    services = Services(admission, chat, lifecycle.prefetches, bot_check(base), grounder, toolbox)
    sites = _sites(base, services, relays, policy, sessions)
    lifecycle = lifecycle._replace(sites=sites.parts if sites else ())
    runtime = _runtime(base, services, sites)
    readiness = Readiness(base, relays.pools, pages)
    app = create_app(
        AppParts(
            runtime=runtime,
            clock=clock,
            health=partial(readiness.health, sessions.deps.capacity if sessions else None),
            problems=readiness.problems,
            start=lifecycle.start,
            stop=lifecycle.stop,
            panel=_panel(base, runtime, relays, sessions, contact, lifecycle),
            identities=users,
            origin_secret=origin_secret(base),
            client_keys=ClientKeys(settings.client_keys),
            sessions=sessions,
            contact=contact,
            assistants=build_assistants(base, answered or pages),
            missing=toolbox.missing if toolbox else None,
            metrics_token=settings.metrics_token.get_secret_value(),
        )
    )
    return Service(app, runtime.close, lifecycle.disconnect, lifecycle.reconnect)


def _runtime(base: Base, services: Services, sites: BuiltSites | None) -> ChatRuntime:
    settings = base.settings
    gateway = Gateway(
        base.clock.now, settings.trusted_proxy_hops, settings.behind_adapter, settings.behind_cdn
    )
    options = web_options(settings, base.constants)
    runtime = ChatRuntime(services, base.log, gateway, options, sites.sites if sites else None)
    if others := base.store.servers:
        runtime.running.join(others)
    return runtime


def _base(settings: Settings, constants: Constants) -> Base:
    clock = SystemClock()
    log = RequestLog(
        clock,
        level=settings.log_level,
        style="text" if sys.stderr.isatty() else "json",
        secrets=settings.secrets,
        metrics=settings.lambda_function,
    )
    if settings.metrics:
        from kefu.web.prometheus import Counters

        log.counters = Counters()
    if settings.traces:
        log.traces = _traces(clock)
    notices = [sentence for _, sentence in unknown_variables()]
    if new_folder := made_folder(settings.store):
        notices.append(new_folder)
    model, store = choose_model(settings), open_store(settings, clock, log, constants)
    if not widget_is_built():
        notices.append(NOT_BUILT)
    return Base(settings, constants, clock, log, model, store, notices, secrets=[], connections=[])


def _traces(clock: SystemClock) -> Traces:
    """Raises ConfigurationError without OpenTelemetry's SDK."""
    try:
        from kefu.web.traces import Traces
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"KEFU_TRACES needs `kefu[otel]`: {error}.") from None
    return Traces(clock)


# Modules for optional features are imported only when they are enabled: it keeps cold starts short.


def _toolbox(base: Base, users: Identities | None) -> Toolbox | None:
    if not base.settings.tools:
        return None
    from kefu.bootstrap.tools import build_toolbox

    toolbox = build_toolbox(base, users)
    if address := base.constants.tool_results:
        from kefu.bootstrap.tool_stand_in import with_stand_ins

        return with_stand_ins(toolbox, address)
    return toolbox


def _stored_chats(
    base: Base, summaries: Summaries, toolbox: Toolbox | None
) -> SessionService | None:
    if not base.store.sessions:
        return None
    from kefu.bootstrap.sessions import kept_chats

    return kept_chats(base, base.store.sessions, summaries, toolbox)


def _contact(base: Base, sessions: SessionService | None) -> DeliveryRunner | None:
    if not base.store.contacts:
        return None
    from kefu.bootstrap.handoff import contact_deliveries

    return contact_deliveries(base, base.store.contacts, sessions)


def _sites(
    base: Base,
    services: Services,
    relays: Relays,
    policy: PromptPolicy,
    sessions: SessionService | None,
) -> BuiltSites | None:
    if not base.settings.site_origins:
        return None
    from kefu.bootstrap.sites import build_sites

    return build_sites(base, services, relays, policy, sessions)


def _panel(
    base: Base,
    runtime: ChatRuntime,
    relays: Relays,
    sessions: SessionService | None,
    contact: DeliveryRunner | None,
    lifecycle: Lifecycle,
) -> Panel | None:
    if not base.settings.has_panel:
        return None
    from kefu.bootstrap.panel import operator_panel

    every = [lifecycle.answered, *(one.answered for one in lifecycle.sites)]
    answered = [one for one in every if one]
    files = [lifecycle.pages, *(one.pages for one in lifecycle.sites)]
    learn = page_learner(base, [one for one in files if one])
    return operator_panel(
        base, runtime, relays, sessions, contact, lifecycle.pages, answered, learn
    )
