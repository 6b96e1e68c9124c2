"""The outermost ASGI middleware: request ids, CORS, common headers and unhandled exceptions."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Container, Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kefu.errors import KefuError, OriginNotAllowed, UpstreamUnavailable
from kefu.relay.call import Clock
from kefu.web.error_response import error_response
from kefu.web.log import RequestLog
from kefu.web.overload import Overload
from kefu.web.request_record import Record

if TYPE_CHECKING:
    from kefu.auth.origin_secret import OriginSecret

_GUARDED = ("/api/", "/v1/", "/mcp")
"""Paths that only allowed origins may call, because they cost money or answer other programs than
browsers. All other paths are public.
"""

_CANCEL = "/api/chat/cancel"

_OF_THE_PROCESS = ("/health", "/ready")
"""Paths for Lambda and monitors, without the CDN: they cost nothing and tell no secret."""

_EVENTS = "/events"
"""The path at which the Lambda Web Adapter passes on events that are no HTTP requests."""

_ADMIN = "/admin"
"""The path of the operator's panel, without CORS headers: other origins cannot read it."""

EXPOSED = (
    "Content-Disposition, Retry-After, X-Request-Id, X-Session-Id, X-Session-Token, "
    "X-Upstream, X-Verification-Pass, x-should-retry"
)
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "*, Content-Type, Authorization, X-Session-Token, X-User-Token",
    "Access-Control-Max-Age": "600",
}
_LONGEST_ORIGIN = 200
"""Characters of a refused origin that the log shows."""

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class Edge:
    """ASGI middleware that refuses foreign origins and writes one log line for each request."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        origins: Iterable[str],
        clock: Clock,
        log: RequestLog,
        overload: Overload,
        origin_secret: OriginSecret | None = None,
        sites: Container[str] = (),
        on_event: Callable[[bytes], Awaitable[None]] | None = None,
    ) -> None:
        """`origin_secret`: the check of the CDN's header; None without a CDN.

        `on_event`: handles an event of Lambda that is no HTTP request; None elsewhere.

        `sites`: the origins of further sites, whose pages may use `/api/` alone.
        """
        self._app = app
        self._overload = overload
        self._origins = frozenset(origins)
        self._sites = sites
        self._clock = clock
        self._log = log
        self._origin_secret = origin_secret
        self._on_event = on_event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._on_event and _is_event(scope):  # no log line: its metrics would have a price
            await self._on_event(await Request(scope, receive).body())
            await Response(status_code=204)(scope, receive, send)
            return
        record = Record(
            secrets.token_hex(8), scope["method"], scope["path"], self._clock.monotonic()
        )
        scope.setdefault("state", {})["record"] = record
        headers = Headers(scope=scope)
        record.traceparent = headers.get("traceparent", "")
        guarded = scope["path"].startswith(_GUARDED)
        origin = self._origin_to_allow(scope, headers, guarded=guarded)
        logged = False

        def report() -> None:
            nonlocal logged
            if not logged:
                logged = True
                self._log.request(record)

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                given = message["headers"]
                message["headers"] = _with_ours(given, record, origin, guarded=guarded)
            elif not message.get("more_body"):
                report()  # before the last chunk: afterwards Lambda may freeze the process
            await send(message)

        try:
            app = await self._app_for(scope, headers, origin, guarded=guarded)
            await app(scope, receive, send_on)
        except Exception:  # noqa: BLE001 - the outermost handler
            # A bug in Kefu: log it, and respond with the common error object.
            self._log.crashed(record)
            record.code = record.code or KefuError.code
            if not record.status:
                error = KefuError("Something went wrong on our side.")
                await error_response(error)(scope, receive, send_on)
        finally:
            report()

    async def _app_for(
        self, scope: Scope, headers: Headers, origin: str | None, *, guarded: bool
    ) -> ASGIApp:
        """The application that answers the request: a refusal, the preflight, or the routes.

        A request must come through the CDN if the site has a CDN.
        """
        record: Record = scope["state"]["record"]
        error: KefuError
        if self._origin_secret and scope["path"] not in _OF_THE_PROCESS:
            try:
                await self._origin_secret.check(headers)
            except KefuError as refusal:
                record.code = refusal.code
                return error_response(refusal)
        if guarded and "origin" in headers and origin is None:
            error = OriginNotAllowed("This page is not allowed to use this service.")
            record.code = error.code
            # Log the origin, because the operator may want to add it to KEFU_ALLOWED_ORIGINS.
            record.facts["origin"] = headers["origin"][:_LONGEST_ORIGIN]
            return error_response(error)
        if scope["method"] == "OPTIONS" and _is_preflight(scope, headers):
            return Response(status_code=204, headers=_PREFLIGHT)
        # A cancellation makes less work.
        is_work = guarded and scope["path"] != _CANCEL
        if is_work and self._overload.refuses(scope["state"].get("waited")):
            error = UpstreamUnavailable("The server is busy. Please try again.", retry_after=1)
            record.code, record.facts["refused"] = error.code, "overload"
            return error_response(error)
        return self._app

    def _origin_to_allow(self, scope: Scope, headers: Headers, *, guarded: bool) -> str | None:
        """Return the request's Origin if it may read the response, else None.

        Origins are compared exactly. No pattern is matched.
        """
        origins = headers.getlist("origin")
        if len(origins) != 1:
            return None
        origin = origins[0]
        if scope["path"].startswith(_ADMIN):
            return None
        if guarded and origin in self._sites:
            return origin if scope["path"].startswith("/api/") else None
        if not guarded or "*" in self._origins or origin in self._origins:
            return origin
        return origin if origin == _own_origin(scope, headers) else None


def _with_ours(
    headers: Iterable[tuple[bytes, bytes]], record: Record, origin: str | None, *, guarded: bool
) -> list[tuple[bytes, bytes]]:
    """The headers of a response, with those of every response, of the answer and of CORS."""
    ours = {"X-Request-Id": record.request_id, **record.answer_headers}
    if guarded:
        ours["Vary"] = "Origin"
    if origin is not None:
        ours["Access-Control-Allow-Origin"] = origin if guarded else "*"
        ours["Access-Control-Expose-Headers"] = EXPOSED
    added = [(n.lower().encode(), v.encode("latin-1")) for n, v in ours.items()]
    names = dict(added)
    kept = [pair for pair in headers if pair[0] not in names]
    names |= dict(kept)
    return [*kept, *added, *(pair for pair in _ALWAYS if pair[0] not in names)]


def _is_event(scope: Scope) -> bool:
    """Whether the Lambda Web Adapter passes on an event.

    In place of the context of an HTTP request, it then sends `null`, which no client can send: the
    adapter overwrites the header. Mangum, which does not, has its own key in the scope.
    """
    context = Headers(scope=scope).get("x-amzn-request-context")
    return scope["path"] == _EVENTS and context == "null" and "aws.event" not in scope


def _own_origin(scope: Scope, headers: Headers) -> str | None:
    """Return the server's own origin if the Host header is a loopback address, else None.

    Any other Host header is not trusted, because DNS rebinding lets a foreign page send its own
    name. Names of other hosts must be in the list of allowed origins.
    """
    host = headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname or ""
        loopback = name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return None
    return f"{scope['scheme']}://{host}" if loopback else None


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    asks = "access-control-request-method" in headers
    return asks and not scope["path"].startswith(_ADMIN)
