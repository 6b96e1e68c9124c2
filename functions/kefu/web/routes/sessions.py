"""`/api/sessions/{id}`: what a visitor may do with a chat of theirs. There is no list of chats."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from kefu.errors import InvalidRequest
from kefu.sessions import Session, StoredMessage
from kefu.web.desk import Desk
from kefu.web.kept import KeptChats
from kefu.web.openapi import errors, export_response, json_response, session_parameters
from kefu.web.schemas import ShownMessages
from kefu.web.transcript import FORMATS

PAGE, LONGEST_PAGE = 20, 100
_FAR = 2**53
"""Above every id, and still a whole number to all who read JSON."""


def session_routes(desk: Desk, kept: KeptChats) -> APIRouter:
    router = APIRouter(prefix="/api/sessions/{session_id}", tags=["sessions"])
    _add_messages(router, kept)
    _add_export(router, kept)
    _add_delete(router, desk, kept)
    return router


def _add_messages(router: APIRouter, kept: KeptChats) -> None:
    @router.get(
        "/messages",
        summary="The messages of a chat, page by page",
        responses={200: json_response(ShownMessages), **errors(400, 403, 404, 429, 503)},
        response_model=None,
        openapi_extra=session_parameters("limit", "before"),
    )
    async def messages(request: Request) -> Response:
        limit = _whole(request, "limit", PAGE, LONGEST_PAGE)
        before = _whole(request, "before", 0, _FAR) or None
        session = await _owned(request, kept)
        page = await kept.turns.page(session, before, limit)
        shown = kept.turns.ways.writing.processor.format_history_for_display(page)
        more = page[0].id if len(page) == limit and page[0].id > 1 else None
        return JSONResponse({"messages": shown, "before": more})


def _add_export(router: APIRouter, kept: KeptChats) -> None:
    @router.get(
        "/export",
        summary="A chat as a file",
        responses={200: export_response(), **errors(400, 403, 404, 429, 503)},
        response_model=None,
        openapi_extra=session_parameters("format"),
    )
    async def export(request: Request) -> Response:
        name = request.query_params.get("format", "json")
        if name not in FORMATS:
            raise InvalidRequest("format: must be json, md or txt.", param="format")
        session = await _owned(request, kept)
        whole: list[StoredMessage] = []
        while page := await kept.turns.page(session, whole[0].id if whole else None, LONGEST_PAGE):
            whole[:0] = page
        kind = FORMATS[name]
        headers = {"Content-Disposition": f'attachment; filename="chat-{session.id[:8]}.{name}"'}
        text = kind.write(session, whole)
        return Response(text, media_type=kind.media_type, headers=headers)


def _add_delete(router: APIRouter, desk: Desk, kept: KeptChats) -> None:
    @router.delete(
        "",
        summary="Forget a chat, and all that was recorded of it",
        status_code=204,
        responses=errors(403, 404, 429, 503),
        response_model=None,
        openapi_extra=session_parameters(),
    )
    async def delete(request: Request) -> Response:
        session = await _owned(request, kept)
        desk.running.cancel_session(session.id)
        await kept.turns.forget(session)
        return Response(status_code=204)


async def _owned(request: Request, kept: KeptChats) -> Session:
    return await kept.session(request, request.path_params["session_id"])


def _whole(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and 0 < int(text) <= most):
        raise InvalidRequest(f"{name}: must be a whole number from 1 to {most}.", param=name)
    return int(text)
