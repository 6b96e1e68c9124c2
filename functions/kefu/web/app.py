"""Builds the FastAPI application: its routes, its middleware and its exception handlers."""

from __future__ import annotations

import json
from asyncio import create_task
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kefu import __version__
from kefu.auth.client_keys import ClientKeys
from kefu.errors import (
    InvalidRequest,
    KefuError,
    MethodNotAllowed,
    NotFound,
    StoreUnavailable,
    UpstreamUnavailable,
)
from kefu.relay.call import Clock
from kefu.web.edge import Edge
from kefu.web.error_response import error_response
from kefu.web.openapi import describe
from kefu.web.overload import Overload
from kefu.web.questions import Questions
from kefu.web.request_record import record_of
from kefu.web.routes.chat import chat_routes, chat_stream
from kefu.web.routes.site import site_routes
from kefu.web.running import ChatRuntime
from kefu.web.schemas import Health, Problem
from kefu.web.sending import Respond, StreamingRoute

if TYPE_CHECKING:
    from kefu.auth.identity import Identities
    from kefu.auth.origin_secret import OriginSecret
    from kefu.sessions.people.delivery_runner import DeliveryRunner
    from kefu.sessions.turn.service import SessionService
    from kefu.web.admin.panel import Panel
    from kefu.web.routes.mcp import Assistants
    from kefu.web.session_chat import KeptChats

SCHEDULE_SECONDS = 60.0
"""Seconds that the stack's schedule waits for what is due. Then Lambda may freeze the process."""

Application = FastAPI
"""The application's type, for modules that must not import FastAPI."""


class AppParts(NamedTuple):
    """The dependencies of the application. `kefu.bootstrap.service` creates them.

    `sessions` is None when the server does not store chats. `panel` is None when it is disabled.
    """

    runtime: ChatRuntime
    clock: Clock
    health: Callable[[], Health]
    problems: Callable[[], Awaitable[Sequence[Problem]]]
    """The reasons why no chat can be answered."""
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    origin_secret: OriginSecret | None = None
    client_keys: ClientKeys = ClientKeys(())
    identities: Identities | None = None
    sessions: SessionService | None = None
    panel: Panel | None = None
    contact: DeliveryRunner | None = None
    assistants: Assistants | None = None
    """What assistants may use at `/mcp`; None when it is disabled."""
    missing: Callable[[], Awaitable[Sequence[str]]] | None = None
    """Sentences about tools that chats do without; None for a service without tools."""
    metrics_token: str = ""
    """Opens `/metrics` for other machines, if the log counts."""


def create_app(parts: AppParts) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await parts.start()
        # A Lambda instance serves one request at a time, and is frozen between two requests.
        watching = None if options.on_aws else create_task(overload.watch())
        yield
        if watching:
            watching.cancel()
        await parts.stop()

    options = parts.runtime.options
    overload = Overload(parts.clock.monotonic, options.overload_delay)
    app = FastAPI(
        title="Kefu",
        version=__version__,
        summary="Chat completions for a widget: streamed, limited, with rotating keys.",
        openapi_url="/openapi.json" if options.openai_api or options.demo else None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Telemetry would cost time in every request, and would record the texts of exceptions.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        lifespan=lifespan,
    )
    app.add_exception_handler(KefuError, _kefu_error)
    app.add_exception_handler(StoreUnavailable, _store_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(
        Edge,
        origins=options.origins,
        clock=parts.clock,
        log=parts.runtime.log,
        overload=overload,
        origin_secret=parts.origin_secret,
        sites=parts.runtime.sites.by_origin if parts.runtime.sites else (),
        on_event=_schedule(parts.contact) if parts.runtime.gateway.behind_adapter else None,
    )
    kept: KeptChats | None = None
    if parts.sessions is not None:
        from kefu.web.session_chat import KeptChats

        mails = parts.contact.mails if parts.contact else None
        kept = KeptChats(parts.runtime, parts.sessions, parts.identities, mails)
    # FastAPI's own routes read a body and write a response; these do more, so they are plain ones.
    for path, respond in _streams(parts, kept):
        app.router.routes.append(Route(path, StreamingRoute(respond), methods=["POST"]))
    routers = tuple(_routers(parts, kept))
    for router in routers:
        app.include_router(router)
    app.openapi = lambda: describe(app, routers)  # type: ignore[method-assign]
    return app


def _schedule(contact: DeliveryRunner | None) -> Callable[[bytes], Awaitable[None]]:
    """What the schedule of the stack calls, with the service's address in its event."""

    async def deliver(event: bytes) -> None:
        if contact:
            contact.handoff.note_url(json.loads(event).get("url", ""))
            await contact.deliver(SCHEDULE_SECONDS)

    return deliver


def _streams(parts: AppParts, kept: KeptChats | None) -> Iterator[tuple[str, Respond]]:
    """Yield the paths whose responses are answers."""
    runtime = parts.runtime
    questions = Questions(runtime.options, runtime.services.chat.sampling)
    yield "/api/chat", chat_stream(runtime, questions, kept, parts.contact)
    if kept:
        from kefu.web.routes.sessions import resumed_stream

        yield "/api/sessions/{session_id}/answer", resumed_stream(kept)
    if runtime.options.openai_api:
        from kefu.web.routes.openai import completions_stream

        yield "/v1/chat/completions", completions_stream(runtime, questions, parts.client_keys)


def _routers(parts: AppParts, kept: KeptChats | None) -> Iterator[APIRouter]:
    """Yield the routers of the enabled features.

    Optional features are imported only when they are enabled, to keep cold starts short.
    """
    runtime, options = parts.runtime, parts.runtime.options
    if parts.contact or options.contact_link or parts.sessions or runtime.sites:
        from kefu.web.routes.contact import contact_routes

        yield contact_routes(runtime, parts.contact)
    if kept:
        from kefu.web.routes.contact import session_contact_routes
        from kefu.web.routes.sessions import person_routes, session_routes, user_routes

        yield user_routes(kept)
        yield session_routes(kept)
        yield person_routes(kept)
        yield session_contact_routes(kept, parts.contact)
    yield chat_routes(runtime, kept)
    if parts.panel is not None:
        yield from _panel_routers(parts.panel)
    if options.openai_api:
        from kefu.web.routes.openai import openai_routes

        yield openai_routes(runtime, parts.client_keys)
    if parts.assistants is not None:
        from kefu.web.routes.mcp import mcp_routes

        yield mcp_routes(runtime, parts.assistants)
    if runtime.log.counters:
        from kefu.web.prometheus import metrics_routes

        running = runtime.running
        yield metrics_routes(
            runtime.log.counters, lambda: len(running.answers), parts.metrics_token
        )
    yield site_routes(parts.health, parts.problems, parts.missing, demo=options.demo)


def _panel_routers(panel: Panel) -> Iterator[APIRouter]:
    from kefu.web.routes.admin import admin_routes, entrance_routes
    from kefu.web.routes.admin_answers import answers_routes
    from kefu.web.routes.admin_contacts import contacts_routes
    from kefu.web.routes.admin_pages import pages_routes
    from kefu.web.routes.admin_passes import passes_routes
    from kefu.web.routes.admin_talks import talk_routes

    yield entrance_routes(panel)
    yield admin_routes(panel)
    yield contacts_routes(panel)
    yield answers_routes(panel)
    yield pages_routes(panel)
    yield passes_routes(panel)
    if panel.oidc:
        from kefu.web.routes.admin_oidc import oidc_routes

        yield oidc_routes(panel, panel.oidc, panel.own_url)
    yield talk_routes(panel)


_OPENAI_PATHS = (
    "There is nothing here. Of OpenAI's API, this service has POST /v1/chat/completions and"
    " GET /v1/models, unless KEFU_OPENAI_API is off."
)


# The handlers are `async` because Starlette runs synchronous handlers in a thread.


async def _kefu_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, KefuError):
        raise error
    record_of(request.scope).failed(error)
    return error_response(error)


async def _store_error(request: Request, _error: Exception) -> Response:
    """A failure of the store in the panel. The store's guard has logged the reason."""
    said = UpstreamUnavailable("The store of chats does not answer. Try again.", retry_after=5)
    return await _kefu_error(request, said)


async def _http_error(request: Request, error: Exception) -> Response:
    """Convert the HTTP exceptions that Starlette's router raises, such as 404 and 405."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 405:
        response = await _kefu_error(request, MethodNotAllowed("This path has no such method."))
        response.headers.update(error.headers or {})
        return response
    if error.status_code == 404:
        asked_of_openai = request.url.path.startswith(("/v1/", "/chat/"))
        text = _OPENAI_PATHS if asked_of_openai else "There is nothing here."
        return await _kefu_error(request, NotFound(text))
    return await _kefu_error(request, InvalidRequest("The request is not valid."))
