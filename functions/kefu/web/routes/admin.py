"""`/admin`: the operator's panel and its API. The routes exist only if a token is configured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import get_args

from fastapi import APIRouter, Request, Response

from kefu.errors import InvalidRequest, NotFound, SessionNotFound, StoreUnavailable
from kefu.sessions.model import SessionId, Sessions, Status, StoredMessage, Wanted
from kefu.web.admin.panel import Panel
from kefu.web.admin.view import EXPORTS, Whole, day, key, page
from kefu.web.caller import Gateway
from kefu.web.files import STATIC, TYPES, StaticFile, serve
from kefu.web.json_response import JsonResponse, encoded
from kefu.web.runtime import ChatRuntime

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


def admin_routes(panel: Panel, runtime: ChatRuntime, gateway: Gateway) -> APIRouter:
    router = APIRouter(prefix="/admin", include_in_schema=False, default_response_class=Response)
    _add_page(router)
    _add_entrance(router, panel, runtime, gateway)
    _add_lists(router, panel, gateway)
    _add_contacts(router, panel, gateway)
    _add_sessions(router, panel, runtime, gateway)
    return router


def _add_page(router: APIRouter) -> None:
    """Serve the static files of the panel. They contain no data, so they need no token."""
    for file in sorted((STATIC / "panel").glob("*")):
        if file.suffix in TYPES and file.suffix != ".json":
            path = "" if file.name == "panel.html" else f"/{file.name}"
            serve(router, path, StaticFile(file, "no-store", _HEADERS))


def _add_entrance(router: APIRouter, panel: Panel, runtime: ChatRuntime, gateway: Gateway) -> None:
    @router.post("/api/enter")
    async def enter(request: Request) -> Response:
        new_pass = await panel.enter(request, gateway.address(request))
        return JsonResponse({"pass": new_pass})

    @router.post("/api/verification-pass")
    async def verification_pass(request: Request) -> Response:
        """A pass of the bot check, with which `kefu test` asks as a visitor does."""
        address = gateway.address(request)
        await panel.check(request, address)
        if runtime.services.bot_check is None:
            raise NotFound("This server has no bot check.")
        return JsonResponse({"pass": await runtime.services.bot_check.pass_for(address)})


def _add_lists(router: APIRouter, panel: Panel, gateway: Gateway) -> None:
    @router.get("/api/about")
    async def info(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        return JsonResponse({**asdict(panel.info), "store": await _room(panel)})

    @router.get("/api/keys")
    async def keys(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        return JsonResponse({"keys": [key(state) for state in await panel.keys()]})

    @router.get("/api/days")
    async def days(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        today = datetime.fromtimestamp(panel.clock.now(), UTC)
        since = _date(request, "since", today - timedelta(days=_DAYS - 1))
        until = _date(request, "until", today)
        days_in_range = await _sessions(panel).days(since, until)
        return JsonResponse({"days": [day(one) for one in days_in_range]})

    @router.get("/api/sessions")
    async def sessions(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        query, now = request.query_params, panel.clock.now()
        limit = int(_number(query, "limit") or _ROWS)
        cursor = query.get("cursor") or None
        try:
            newest = await _sessions(panel).newest(
                _filter(query), cursor, min(max(1, limit), _MOST_ROWS), now
            )
        except ValueError:
            raise InvalidRequest("cursor: is not valid.", param="cursor") from None
        return JsonResponse(page(newest))


def _add_contacts(router: APIRouter, panel: Panel, gateway: Gateway) -> None:
    @router.get("/api/contacts")
    async def contacts(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        source = panel.contact.newest if panel.contact else _sessions(panel).contacts
        requests = await source(_MOST_ROWS)
        key = ""
        if panel.contact and panel.contact.has_webhook:
            key = await panel.contact.signing_key()
        shown = [one._asdict() for one in requests]
        return JsonResponse({"requests": shown, "signing_key": key})


def _add_sessions(router: APIRouter, panel: Panel, runtime: ChatRuntime, gateway: Gateway) -> None:
    @router.get("/api/sessions/{session_id}")
    async def session(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        before = _number(request.query_params, "before")
        shown = await _with_messages(panel, request, int(before) if before else None, pages=1)
        more = len(shown.messages) >= _MESSAGES and shown.messages[0].id > 1
        return JsonResponse({**shown.json(), "before": shown.messages[0].id if more else None})

    @router.get("/api/sessions/{session_id}/export")
    async def export(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        name = request.query_params.get("format", "json")
        if name not in EXPORTS:
            raise InvalidRequest("format: must be json, jsonl or md.", param="format")
        export, exported = EXPORTS[name], await _with_messages(panel, request)
        file = f'attachment; filename="session-{exported.session.id[:8]}.{name}"'
        headers = {"Content-Disposition": file}
        body = encoded(export.write(exported))
        return Response(body, media_type=export.media_type, headers=headers)

    @router.delete("/api/sessions/{session_id}")
    async def delete(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        name = SessionId(request.path_params["session_id"])
        runtime.running.cancel_session(name)
        await _sessions(panel).delete(name)
        return Response(status_code=204)


async def _room(panel: Panel) -> dict[str, object] | None:
    """The space of the store. None where it has no limit, or cannot be read now."""
    try:
        room = await panel.room() if panel.room else None
    except StoreUnavailable:
        return None
    return room._asdict() if room and room.limit else None


def _sessions(panel: Panel) -> Sessions:
    if panel.sessions is None:
        raise NotFound("This server does not store chats: KEFU_SESSIONS is off.")
    return panel.sessions


async def _with_messages(
    panel: Panel, request: Request, before: int | None = None, pages: int | None = None
) -> Whole:
    """Return a session with its newest messages and their calls.

    `before`: only messages with a smaller id. `pages`: the number of pages of 200; None: all.
    """
    store, now = _sessions(panel), panel.clock.now()
    name = SessionId(request.path_params["session_id"])
    session = await store.session(name)
    if session is None:
        raise SessionNotFound("There is no such session.")
    messages: list[StoredMessage] = []
    while pages is None or pages > 0:
        older = await store.messages(name, before=before, limit=_MESSAGES, now=now)
        messages[:0] = older
        if len(older) < _MESSAGES:
            break
        before, pages = older[0].id, None if pages is None else pages - 1
    shown = {message.id for message in messages}
    calls = [call for call in await store.calls(name) if call.message_id in shown]
    return Whole(session, messages, calls)


def _filter(query: Mapping[str, str]) -> Wanted:
    status, error = query.get("status") or None, query.get("has_error") or None
    if status is not None and status not in get_args(Status):
        raise InvalidRequest(f"status: one of {', '.join(get_args(Status))}.", param="status")
    if error not in (None, "true", "false"):
        raise InvalidRequest("has_error: true or false.", param="has_error")
    return Wanted(
        since=_number(query, "since"),
        until=_number(query, "until"),
        status=status,  # type: ignore[arg-type]  # the check above ensures a valid status
        has_error=None if error is None else error == "true",
    )


def _number(query: Mapping[str, str], name: str) -> float | None:
    """Return a query parameter as a non-negative number, or None if it is absent."""
    text = query.get(name) or None
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
