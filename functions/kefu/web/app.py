"""The FastAPI application: routes, the edge around them, errors in one shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from kefu import __version__
from kefu.answer import Clock
from kefu.errors import InvalidRequest, KefuError, MethodNotAllowed, NotFound
from kefu.web.desk import Desk
from kefu.web.edge import Edge
from kefu.web.error_response import error_response
from kefu.web.gateway import Gateway
from kefu.web.identity import Identities
from kefu.web.openapi import describe
from kefu.web.options import WebOptions
from kefu.web.questions import Questions
from kefu.web.record import record_of
from kefu.web.routes.chat import chat_routes
from kefu.web.routes.openai import openai_routes
from kefu.web.routes.site import site_routes
from kefu.web.schemas import Health, build_models

if TYPE_CHECKING:
    from kefu.turns import Turns
    from kefu.web.kept import KeptChats
    from kefu.web.panel import Panel

Application = FastAPI
"""For those who only pass it on."""


class Parts(NamedTuple):
    """What `kefu.assembly` chose for the application."""

    options: WebOptions
    desk: Desk
    clock: Clock
    health: Callable[[], Health]
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    identities: Identities
    turns: Turns | None = None
    panel: Panel | None = None
    """Where chats are kept."""


def create_app(parts: Parts) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        build_models()
        await parts.start()
        yield
        await parts.stop()

    app = FastAPI(
        title="Kefu",
        version=__version__,
        summary="Chat completions for a widget: streamed, limited, with rotating keys.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Costs time in every request, and would record exceptions with their texts.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        lifespan=lifespan,
    )
    app.add_exception_handler(KefuError, _kefu_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(Edge, origins=parts.options.origins, clock=parts.clock, log=parts.desk.log)
    options, questions = parts.options, Questions(parts.options)
    gateway = Gateway(
        parts.clock.now,
        trusted_hops=options.trusted_proxy_hops,
        behind_adapter=options.behind_adapter,
    )
    kept: KeptChats | None = None
    # What only some want is loaded only for them: a cold start waits for every module.
    if parts.turns is not None:
        from kefu.web.kept import KeptChats
        from kefu.web.routes.sessions import session_routes

        kept = KeptChats(parts.desk, parts.turns, gateway, parts.identities)
        app.include_router(session_routes(parts.desk, kept))
    app.include_router(chat_routes(parts.desk, questions, gateway, options, kept))
    if parts.panel is not None:
        from kefu.web.routes.admin import admin_routes

        app.include_router(admin_routes(parts.panel, parts.desk, gateway))
    if options.openai_api:
        app.include_router(openai_routes(parts.desk, questions, gateway))
    app.include_router(site_routes(parts.health, demo=options.demo))
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def _kefu_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, KefuError):
        raise error
    record_of(request.scope).code = error.code
    return error_response(error)


def _http_error(request: Request, error: Exception) -> Response:
    """What the router itself raises: no such path, wrong method."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 405:
        response = _kefu_error(request, MethodNotAllowed("This path has no such method."))
        response.headers.update(error.headers or {})
        return response
    if error.status_code == 404:
        return _kefu_error(request, NotFound("There is nothing here."))
    return _kefu_error(request, InvalidRequest("The request is not valid."))
