"""`/admin`: the operator's panel and its API. The routes exist only if a token is configured."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args

from fastapi import APIRouter, Depends, Request, Response

from kefu.errors import InvalidRequest, NotFound, StoreUnavailable
from kefu.sessions.store.answers import WrittenAnswer, made_from
from kefu.sessions.store.attendance import State
from kefu.sessions.store.model import Rating, SessionId, Status, StoredMessage
from kefu.sessions.store.overview import Page, SessionFilter, ToolFilter
from kefu.sessions.store.ports import Sessions
from kefu.web.admin.deletions import deleted, wants_receipt
from kefu.web.admin.insights import insights, learnt
from kefu.web.admin.panel import Panel, panel_router
from kefu.web.admin.view import EXPORTS, ChatExport, Json, key, page, page_of_session
from kefu.web.body import Query
from kefu.web.files import STATIC, TYPES, StaticFile, serve
from kefu.web.json_response import JsonRoute
from kefu.web.long_response import LongResponse

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Cross-Origin-Resource-Policy": "same-origin"}
_PAGE_ROWS, _MAX_ROWS, _PAGE_MESSAGES = 50, 200, 200
_QUEUE_ROWS = 50
"""The panel asks less often for a long queue, because each row costs a read unit on DynamoDB."""
_SHOWN_DAYS = 30
_MAX_SEARCH_CHARS = 200
"""Characters. A word takes an expression of the index."""
_CHOICES = {
    "status": get_args(Status),
    "rating": get_args(Rating),
    "state": get_args(State),
    "tool": get_args(ToolFilter),
    "has_error": ("true", "false"),
    "unanswered": ("true", "false"),
}
_FORMAT = Depends(Query("format", type="string", enum=list(EXPORTS), default="json").read)
_DATE_FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER_FORM = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


def entrance_routes(panel: Panel) -> APIRouter:
    """The routes of the panel that its pass does not protect."""
    router = APIRouter(prefix="/admin", route_class=JsonRoute, include_in_schema=False)
    # The static files contain no data, so they need no token.
    for file in sorted((STATIC / "panel").glob("*")):
        if file.suffix in TYPES and file.suffix != ".json":
            path = "" if file.name == "panel.html" else f"/{file.name}"
            serve(router, path, StaticFile(file, "no-store", _HEADERS))

    @router.post("/api/enter")
    async def enter(request: Request) -> Json:
        return {"pass": await panel.enter(request)}

    @router.get("/api/enter")
    async def ways() -> Json:
        """The ways to sign in, beside a link: `oidc` begins at `/admin/api/oidc`."""
        return {"oidc": panel.oidc is not None}

    @router.delete("/api/enter", status_code=204)
    async def leave(request: Request) -> None:
        """End the pass of the request."""
        if panel.sign_ins and (id := panel.pass_of(request)):
            await panel.sign_ins.end_sign_in(id, panel.clock.now())

    @router.post("/api/verification-pass")
    async def verification_pass(request: Request) -> Json:
        """A pass of the bot check, with which `kefu test` asks as a visitor does."""
        await panel.check(request, of_bot_check=True)
        bot_check = panel.runtime.services.bot_check
        if bot_check is None:
            raise NotFound("This server has no bot check.")
        return {"pass": await bot_check.pass_for(panel.runtime.gateway.address(request))}

    return router


def admin_routes(panel: Panel) -> APIRouter:
    router = panel_router(panel)
    _add_lists(router, panel)
    _add_queue(router, panel)
    _add_sessions(router, panel)
    _add_images(router, panel)
    return router


def _add_lists(router: APIRouter, panel: Panel) -> None:
    @router.get("/about")
    async def info(request: Request) -> Json:
        holder = panel.holder_of(request)
        info = panel.info.of_site(holder.site) if holder.site else panel.info
        return {**asdict(info), **holder._asdict(), "store": await _room(panel)}

    @router.get("/keys")
    async def keys() -> Json:
        return {"keys": [key(state) for state in await panel.keys()]}

    @router.get("/days")
    async def days(request: Request) -> Json:
        found = await panel.stored_chats().days(*_period(request, panel.clock.now()))
        return {"days": [one._asdict() for one in found]}

    @router.get("/insights")
    async def all_chats(request: Request) -> Json:
        now = panel.clock.now()
        found = await insights(panel.stored_chats(), *_period(request, now), now)
        return {**found, "pages": await learnt(panel.pages, now)}

    @router.get("/sessions")
    async def sessions(request: Request) -> Json:
        query, now = request.query_params, panel.clock.now()
        limit = int(_number(query, "limit") or _PAGE_ROWS)
        cursor = query.get("cursor") or None
        try:
            newest = await panel.stored_chats().newest(
                _filter(query, panel.site_of(request)), cursor, min(max(1, limit), _MAX_ROWS), now
            )
        except ValueError:
            raise InvalidRequest("cursor: is not valid.", param="cursor") from None
        return page(newest)


def _add_queue(router: APIRouter, panel: Panel) -> None:
    @router.get("/queue")
    async def queue(request: Request) -> Json:
        """The chats that wait for a person or are with one: asked by a panel every few seconds."""
        store, site, now = panel.stored_chats(), panel.site_of(request), panel.clock.now()
        wanted = SessionFilter(state="waiting", config_id=site)
        waiting, person = await asyncio.gather(
            _queued(store, wanted, now), _queued(store, wanted._replace(state="person"), now)
        )
        trouble = panel.contact.trouble if panel.contact and not site else ""
        return {"waiting": page(waiting), "person": page(person), "trouble": trouble}


async def _queued(store: Sessions, wanted: SessionFilter, now: float) -> Page:
    """The newest chats of a queue. DynamoDB has fewer in a page; the longest wait comes last."""
    found = await store.newest(wanted, None, _QUEUE_ROWS, now)
    while found.rows and found.cursor and len(found.rows) < _QUEUE_ROWS:
        more = await store.newest(wanted, found.cursor, _QUEUE_ROWS - len(found.rows), now)
        found = more._replace(rows=[*found.rows, *more.rows])
    return found


def _add_sessions(router: APIRouter, panel: Panel) -> None:
    @router.get("/sessions/{session_id}")
    async def session(request: Request) -> Response:
        before = _number(request.query_params, "before")
        shown = await _with_messages(panel, request, int(before) if before else None, pages=1)
        panel.audit(request, "read", shown.session.id)
        more = len(shown.messages) >= _PAGE_MESSAGES and shown.messages[0].id > 1
        # Only a chat that has once waited can have a request.
        changed = shown.session.attendance.since > 0
        requests = await panel.stored_chats().contacts_of(shown.session.id) if changed else ()
        pieces = page_of_session(shown, shown.messages[0].id if more else None, requests)
        return LongResponse(pieces, "application/json")

    @router.get("/sessions/{session_id}/export")
    async def export(request: Request, name: str = _FORMAT) -> Response:
        export, exported = EXPORTS[name], await _with_messages(panel, request)
        panel.audit(request, "export", exported.session.id)
        file = f'attachment; filename="session-{exported.session.id[:8]}.{name}"'
        headers = {"Content-Disposition": file}
        return LongResponse(export.write(exported), export.media_type, headers)

    @router.delete("/sessions/{session_id}")
    async def delete(request: Request) -> Response:
        name = SessionId(request.path_params["session_id"])
        panel.runtime.running.cancel_session(name)
        store = panel.stored_chats()
        requests = await store.contacts_of(name) if wants_receipt(request) else ()
        answers = list[WrittenAnswer]()
        if request.query_params.get("answers") == "withdraw":
            answers = made_from([name], await store.answers())
            for one in answers:
                await store.withdraw_answer(one.id)
            panel.answers_changed()
        await store.delete_contacts(name)  # first: only the chat has the user of the requests
        await store.delete(name)
        panel.audit(request, "delete", name)
        facts = {
            "chats": [name],
            "requests": [one.id for one in requests],
            "answers": [one.id for one in answers],
        }

        async def left() -> int:
            kept = await store.session(name) is not None
            messages = await store.messages(name, limit=1, now=panel.clock.now())
            return kept + len(messages) + len(await store.contacts_of(name))

        return await deleted(panel, request, facts, left)


def _add_images(router: APIRouter, panel: Panel) -> None:
    @router.get("/sessions/{session_id}/images/{image_id}")
    async def image(request: Request) -> Response:
        from kefu.web.images import image_response  # here, because few chats have images

        given = request.path_params
        return await image_response(panel.stored_chats(), given["session_id"], given["image_id"])


async def _room(panel: Panel) -> dict[str, object] | None:
    """The space of the store. None without a limit, or if the size cannot be read."""
    try:
        room = await panel.room() if panel.room else None
    except StoreUnavailable:
        return None
    return room._asdict() if room and room.limit else None


async def _with_messages(
    panel: Panel, request: Request, before: int | None = None, pages: int | None = None
) -> ChatExport:
    """Return a session with its newest messages and their calls.

    `before`: only messages with a smaller id. `pages`: the number of pages of 200; None: all.
    """
    store, now = panel.stored_chats(), panel.clock.now()
    name = SessionId(request.path_params["session_id"])
    session = await panel.stored_chat(name)
    messages: list[StoredMessage] = []
    while pages is None or pages > 0:
        older = await store.messages(name, before=before, limit=_PAGE_MESSAGES, now=now)
        messages[:0] = older
        await asyncio.sleep(0)  # a store may read without a pause
        if len(older) < _PAGE_MESSAGES:
            break
        before, pages = older[0].id, None if pages is None else pages - 1
    shown = {message.id for message in messages}
    calls = [call for call in await store.calls(name) if call.message_id in shown]
    return ChatExport(session, messages, calls)


def _filter(query: Mapping[str, str], site: str) -> SessionFilter:
    """`site`: the only one whose chats are shown; "" for all."""
    chosen: dict[str, Any] = {name: _choice(query, name, of) for name, of in _CHOICES.items()}
    error, unanswered = chosen.pop("has_error"), chosen.pop("unanswered")
    return SessionFilter(
        since=_number(query, "since"),
        until=_number(query, "until"),
        has_error=None if error is None else error == "true",
        unanswered=unanswered == "true",
        config_id=site or query.get("preset", ""),
        user=query.get("user", ""),
        text=query.get("text", "")[:_MAX_SEARCH_CHARS],
        **chosen,
    )


def _choice(query: Mapping[str, str], name: str, choices: Sequence[str]) -> str | None:
    """Return a query parameter that must be one of `choices`, or None if it is absent."""
    text = query.get(name) or None
    if text is not None and text not in choices:
        raise InvalidRequest(f"{name}: one of {', '.join(choices)}.", param=name)
    return text


def _number(query: Mapping[str, str], name: str) -> float | None:
    """Return a query parameter as a non-negative number, or None if it is absent."""
    text = query.get(name) or None
    if text is None:
        return None
    if not _NUMBER_FORM.fullmatch(text):
        raise InvalidRequest(f"{name}: must be a number.", param=name)
    return float(text)


def _period(request: Request, now: float) -> tuple[str, str]:
    """Return the first and the last day that a request asks for."""
    today = datetime.fromtimestamp(now, UTC)
    first = _date(request, "since", today - timedelta(days=_SHOWN_DAYS - 1))
    return first, _date(request, "until", today)


def _date(request: Request, name: str, default: datetime) -> str:
    text = request.query_params.get(name) or f"{default:%Y-%m-%d}"
    try:
        # Only this form is accepted: dates are compared as texts.
        return f"{date.fromisoformat(text if _DATE_FORM.fullmatch(text) else '')}"
    except ValueError:
        text = f"{name}: must be a date such as 2026-01-31."
        raise InvalidRequest(text, param=name) from None
