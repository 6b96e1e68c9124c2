"""The outermost layer: request ids, origins, headers every answer has, and the last catch."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kefu.answer import Clock
from kefu.errors import KefuError, OriginNotAllowed
from kefu.web.error_response import error_response
from kefu.web.log import RequestLog
from kefu.web.record import Record

_GUARDED = ("/api/", "/v1/")
"""Paths that cost money, for allowed origins alone; all others are public files."""

_OPERATORS = "/admin"
"""For no other origin at all."""

_EXPOSED = (
    "Content-Disposition, Retry-After, X-Request-Id, X-Session-Id, X-Session-Token, "
    "X-Verification-Pass, x-should-retry"
)
_HEADERS_ALLOWED = "Content-Type, Authorization, X-Session-Token, X-User-Token"
_METHODS_ALLOWED = "GET, POST, DELETE, OPTIONS"
_PREFLIGHT_AGE = "600"

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Edge:
    def __init__(
        self, app: ASGIApp, *, origins: Iterable[str], clock: Clock, log: RequestLog
    ) -> None:
        self._app = app
        self._origins = frozenset(origins)
        self._clock = clock
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = Record(
            secrets.token_hex(8), scope["method"], scope["path"], self._clock.monotonic()
        )
        scope.setdefault("state", {})["record"] = record
        headers = Headers(scope=scope)
        origin = self._origin_to_allow(scope, headers)

        logged = False

        def report() -> None:
            nonlocal logged
            if not logged:
                logged = True
                self._log.request(record)

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                self._dress(message, record, origin, guarded=_is_guarded(scope))
            elif not message.get("more_body"):
                report()  # before the end: a function may be frozen as soon as it has gone out
            await send(message)

        try:
            await self._answer(scope, receive, send_on, origin)
        except Exception:  # noqa: BLE001 - the last catch there is
            # No input may come here; if one does, it is answered in our shape and logged.
            self._log.crashed(record)
            record.code = record.code or KefuError.code
            if not record.status:
                error = KefuError("Something went wrong on our side.")
                await error_response(error)(scope, receive, send_on)
        finally:
            report()

    async def _answer(self, scope: Scope, receive: Receive, send: Send, origin: str | None) -> None:
        headers = Headers(scope=scope)
        app: ASGIApp = self._app
        if _is_guarded(scope) and "origin" in headers and origin is None:
            error = OriginNotAllowed("This page is not allowed to use this service.")
            scope["state"]["record"].code = error.code
            app = error_response(error)
        elif _is_preflight(scope, headers):
            app = Response(
                status_code=204,
                headers={
                    "Access-Control-Allow-Methods": _METHODS_ALLOWED,
                    "Access-Control-Allow-Headers": _HEADERS_ALLOWED,
                    "Access-Control-Max-Age": _PREFLIGHT_AGE,
                },
            )
        await app(scope, receive, send)

    def _origin_to_allow(self, scope: Scope, headers: Headers) -> str | None:
        """The request's Origin if it may read the answer; never a guess, never a pattern."""
        given = headers.getlist("origin")
        if len(given) != 1:
            return None
        origin = given[0]
        if scope["path"].startswith(_OPERATORS):
            return None
        if not _is_guarded(scope) or "*" in self._origins or origin in self._origins:
            return origin
        own = {f"{scheme}://{headers.get('host')}" for scheme in (scope["scheme"], "https")}
        return origin if origin in own else None

    @staticmethod
    def _dress(message: Message, record: Record, origin: str | None, *, guarded: bool) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in _ALWAYS.items():
            headers.setdefault(name, value)
        headers["X-Request-Id"] = record.request_id
        headers.update(record.answer_headers)
        if guarded:
            headers.add_vary_header("Origin")
        if origin is not None:
            headers["Access-Control-Allow-Origin"] = origin if guarded else "*"
            headers["Access-Control-Expose-Headers"] = _EXPOSED


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    asks = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
    return asks and not scope["path"].startswith(_OPERATORS)


def _is_guarded(scope: Scope) -> bool:
    path: str = scope["path"]
    return path.startswith(_GUARDED)
