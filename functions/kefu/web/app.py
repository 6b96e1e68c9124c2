"""The FastAPI application: routes, the edge around them, errors in one shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from kefu import __version__
from kefu.answer import Clock
from kefu.errors import InvalidRequest, KefuError, MethodNotAllowed, NotFound
from kefu.lean_typing import NamedTuple
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
    for router in _routers(parts):
        # Not `include_router`: FastAPI makes each route again, in the first request.
        app.router.routes += router.routes
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def _routers(parts: Parts) -> Iterator[APIRouter]:
    """What only some services have is loaded only there: a cold start waits for every module."""
    desk, options, questions = parts.desk, parts.options, Questions(parts.options)
    gateway = Gateway(
        parts.clock.now,
        trusted_hops=options.trusted_proxy_hops,
        behind_adapter=options.behind_adapter,
    )
    kept: KeptChats | None = None
    if parts.turns is not None:
        from kefu.web.kept import KeptChats
        from kefu.web.routes.sessions import session_routes

        kept = KeptChats(desk, parts.turns, gateway, parts.identities)
        yield session_routes(desk, kept)
    yield chat_routes(desk, questions, gateway, options, kept)
    if parts.panel is not None:
        from kefu.web.routes.admin import admin_routes

        yield admin_routes(parts.panel, desk, gateway)
    if options.openai_api:
        from kefu.web.routes.openai import openai_routes

        yield openai_routes(desk, questions, gateway)
    yield site_routes(parts.health, demo=options.demo)


# The handlers await nothing, yet Starlette would call plain functions in a thread.


async def _kefu_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, KefuError):
        raise error
    record_of(request.scope).code = error.code
    return error_response(error)


async def _http_error(request: Request, error: Exception) -> Response:
    """What the router itself raises: no such path, wrong method."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 405:
        response = await _kefu_error(request, MethodNotAllowed("This path has no such method."))
        response.headers.update(error.headers or {})
        return response
    if error.status_code == 404:
        return await _kefu_error(request, NotFound("There is nothing here."))
    return await _kefu_error(request, InvalidRequest("The request is not valid."))
