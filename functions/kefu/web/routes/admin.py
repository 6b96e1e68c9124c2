"""`/admin`: the operator's panel, and the API behind it. Not there at all without a token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import get_args

from fastapi import APIRouter, Request, Response

from kefu.errors import InvalidRequest, NotFound, SessionNotFound
from kefu.sessions import SessionId, Sessions, Status, StoredMessage, Wanted
from kefu.web.desk import Desk
from kefu.web.files import STATIC, TYPES, StaticFile, serve
from kefu.web.gateway import Gateway
from kefu.web.json_response import Json, encoded
from kefu.web.panel import Panel
from kefu.web.panel_view import EXPORTS, Whole, day, key, page

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Cross-Origin-Resource-Policy": "same-origin"}
_ROWS, _MOST_ROWS, _MESSAGES = 50, 200, 200
_DAYS = 30
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


def admin_routes(panel: Panel, desk: Desk, gateway: Gateway) -> APIRouter:
    router = APIRouter(prefix="/admin", include_in_schema=False, default_response_class=Response)
    _add_page(router)
    _add_entrance(router, panel, gateway)
    _add_lists(router, panel, gateway)
    _add_sessions(router, panel, desk, gateway)
    return router


def _add_page(router: APIRouter) -> None:
    """It holds no data, so it wants no token."""
    for file in sorted((STATIC / "panel").glob("*")):
        if file.suffix in TYPES and file.suffix != ".json":
            path = "" if file.name == "panel.html" else f"/{file.name}"
            serve(router, path, StaticFile(file, "no-store", _HEADERS))


def _add_entrance(router: APIRouter, panel: Panel, gateway: Gateway) -> None:
    @router.post("/api/enter")
    async def enter(request: Request) -> Response:
        given = await panel.enter(request, gateway.address(request))
        return Json({"pass": given})


def _add_lists(router: APIRouter, panel: Panel, gateway: Gateway) -> None:
    @router.get("/api/about")
    async def about(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        return Json(asdict(panel.about))

    @router.get("/api/keys")
    async def keys(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        return Json({"keys": [key(state) for state in await panel.keys()]})

    @router.get("/api/days")
    async def days(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        today = datetime.fromtimestamp(panel.clock.now(), UTC)
        since = _date(request, "since", today - timedelta(days=_DAYS - 1))
        until = _date(request, "until", today)
        found = await _kept(panel).days(since, until)
        return Json({"days": [day(one) for one in found]})

    @router.get("/api/sessions")
    async def sessions(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        given, now = request.query_params, panel.clock.now()
        limit = int(_number(given, "limit") or _ROWS)
        cursor = given.get("cursor") or None
        try:
            found = await _kept(panel).newest(
                _wanted(given), cursor, min(max(1, limit), _MOST_ROWS), now
            )
        except ValueError:
            raise InvalidRequest("cursor: is none of ours.", param="cursor") from None
        return Json(page(found))


def _add_sessions(router: APIRouter, panel: Panel, desk: Desk, gateway: Gateway) -> None:
    @router.get("/api/sessions/{session_id}")
    async def session(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        before = _number(request.query_params, "before")
        shown = await _whole(panel, request, int(before) if before else None, pages=1)
        more = len(shown.messages) >= _MESSAGES and shown.messages[0].id > 1
        return Json({**shown.json(), "before": shown.messages[0].id if more else None})

    @router.get("/api/sessions/{session_id}/export")
    async def export(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        name = request.query_params.get("format", "json")
        if name not in EXPORTS:
            raise InvalidRequest("format: must be json, jsonl or md.", param="format")
        kind, whole = EXPORTS[name], await _whole(panel, request)
        file = f'attachment; filename="session-{whole.session.id[:8]}.{name}"'
        headers = {"Content-Disposition": file}
        return Response(encoded(kind.write(whole)), media_type=kind.media_type, headers=headers)

    @router.delete("/api/sessions/{session_id}")
    async def delete(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        name = SessionId(request.path_params["session_id"])
        desk.running.cancel_session(name)
        await _kept(panel).delete(name)
        return Response(status_code=204)


def _kept(panel: Panel) -> Sessions:
    if panel.sessions is None:
        raise NotFound("This server keeps no chats: KEFU_SESSIONS is off.")
    return panel.sessions


async def _whole(
    panel: Panel, request: Request, before: int | None = None, pages: int | None = None
) -> Whole:
    """A session with its newest messages, so many pages of them or all, and their calls."""
    store, now = _kept(panel), panel.clock.now()
    name = SessionId(request.path_params["session_id"])
    session = await store.session(name)
    if session is None:
        raise SessionNotFound("There is no such session, or not any more.")
    messages: list[StoredMessage] = []
    while pages is None or pages > 0:
        found = await store.messages(name, before=before, limit=_MESSAGES, now=now)
        messages[:0] = found
        if len(found) < _MESSAGES:
            break
        before, pages = found[0].id, None if pages is None else pages - 1
    shown = {message.id for message in messages}
    calls = [call for call in await store.calls(name) if call.message_id in shown]
    return Whole(session, messages, calls)


def _wanted(given: Mapping[str, str]) -> Wanted:
    status, error = given.get("status") or None, given.get("has_error") or None
    if status is not None and status not in get_args(Status):
        raise InvalidRequest(f"status: one of {', '.join(get_args(Status))}.", param="status")
    if error not in (None, "true", "false"):
        raise InvalidRequest("has_error: true or false.", param="has_error")
    return Wanted(
        since=_number(given, "since"),
        until=_number(given, "until"),
        status=status,  # type: ignore[arg-type]  # it is one of them
        has_error=None if error is None else error == "true",
    )


def _number(given: Mapping[str, str], name: str) -> float | None:
    """A number from 0 on, as times and counts are."""
    text = given.get(name) or None
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise InvalidRequest(f"{name}: must be a number.", param=name)
    return float(text)


def _date(request: Request, name: str, default: datetime) -> str:
    text = request.query_params.get(name) or f"{default:%Y-%m-%d}"
    if not _DATE.fullmatch(text):
        raise InvalidRequest(f"{name}: must be a date such as 2026-01-31.", param=name)
    return text
