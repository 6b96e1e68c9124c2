"""`/api/sessions`: lists the chats of a signed-in user; reads, exports and deletes one chat."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from kefu.errors import InvalidRequest, SessionNotFound
from kefu.sessions.model import Session, StoredMessage
from kefu.web.body import JsonBody
from kefu.web.openapi import errors, export_response, json_response, query
from kefu.web.options import BodyLimits
from kefu.web.schemas import (
    FEEDBACK_BYTES,
    AnswerFeedback,
    ResumeRequest,
    ShownMessages,
    ShownSession,
    ShownSessions,
)
from kefu.web.sending import Respond
from kefu.web.session_chat import KeptChats
from kefu.web.transcript import FORMATS

PAGE, LONGEST_PAGE = 20, 100
FAR = 2**53
"""Greater than every message id. It is the largest integer that JSON parsers read exactly."""


def session_routes(kept: KeptChats, seconds: float) -> APIRouter:
    """`seconds` is the time limit for a body."""
    router = APIRouter(prefix="/api/sessions/{session_id}", tags=["sessions"])
    _add_messages(router, kept)
    _add_export(router, kept)
    _add_feedback(router, kept, BodyLimits(FEEDBACK_BYTES, 2, seconds))
    _add_delete(router, kept)
    return router


def user_routes(kept: KeptChats) -> APIRouter:
    router = APIRouter(prefix="/api/sessions", tags=["sessions"])

    @router.get(
        "",
        summary="The chats of the signed-in user, newest first, each with a new token",
        responses={200: json_response(ShownSessions), **errors(400, 403, 429, 503)},
        openapi_extra=query("limit", "cursor", "config_id"),
    )
    async def sessions(request: Request) -> Response:
        limit = integer(request, "limit", PAGE, LONGEST_PAGE)
        query = request.query_params
        try:
            found, cursor = await kept.listed(
                request, query.get("config_id", ""), query.get("cursor") or None, limit
            )
        except ValueError:
            raise InvalidRequest("cursor: is not valid.", param="cursor") from None
        shown = [shown_session(session, token) for session, token in found]
        return JSONResponse({"sessions": shown, "cursor": cursor})

    return router


def shown_session(session: Session, token: str) -> ShownSession:
    return {
        "id": session.id,
        "token": token,
        "title": session.title,
        "config_id": session.config_id,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }


def _add_messages(router: APIRouter, kept: KeptChats) -> None:
    @router.get(
        "/messages",
        summary="The messages of a chat, page by page",
        responses={200: json_response(ShownMessages), **errors(400, 403, 404, 429, 503)},
        openapi_extra=query("limit", "before", "sources"),
    )
    async def messages(request: Request) -> Response:
        limit = integer(request, "limit", PAGE, LONGEST_PAGE)
        before = integer(request, "before", 0, FAR) or None
        with_sources = request.query_params.get("sources", "false")
        if with_sources not in {"true", "false"}:
            raise InvalidRequest("sources: must be true or false.", param="sources")
        session = await _owned(request, kept)
        page = await kept.turns.page(session, before, limit)
        shown = kept.turns.deps.persistence.processor.format_history_for_display(page)
        more = page[0].id if len(page) == limit and page[0].id > 1 else None
        links = kept.name_sources(shown) if with_sources == "true" else {}
        return JSONResponse({"messages": shown, "before": more, **links})


def resumed_stream(kept: KeptChats, seconds: float) -> Respond:
    """The answer to an earlier message. `seconds` is the time limit for the body."""
    body = JsonBody(ResumeRequest, BodyLimits(1024, 4, seconds))

    async def answer(request: Request) -> ASGIApp:
        resumed = await body.read(request)
        return await kept.resume(request, request.path_params["session_id"], resumed)

    return answer


def _add_export(router: APIRouter, kept: KeptChats) -> None:
    @router.get(
        "/export",
        summary="A chat as a file",
        responses={200: export_response(), **errors(400, 403, 404, 429, 503)},
        openapi_extra=query("format"),
    )
    async def export(request: Request) -> Response:
        name = request.query_params.get("format", "json")
        if name not in FORMATS:
            raise InvalidRequest("format: must be json, md or txt.", param="format")
        session = await _owned(request, kept)
        messages: list[StoredMessage] = []
        while page := await kept.turns.page(
            session, messages[0].id if messages else None, LONGEST_PAGE
        ):
            messages[:0] = page
            await asyncio.sleep(0)  # a store may read without a pause
        file_format, messages = FORMATS[name], kept.checked(messages) if name == "md" else messages
        headers = {"Content-Disposition": f'attachment; filename="chat-{session.id[:8]}.{name}"'}
        # In a thread: a long chat takes longer to write than other chats should wait.
        body = await asyncio.to_thread(lambda: file_format.write(session, messages).encode())
        return Response(body, media_type=file_format.media_type, headers=headers)


def _add_feedback(router: APIRouter, kept: KeptChats, limits: BodyLimits) -> None:
    rated = Depends(JsonBody(AnswerFeedback, limits).read)

    @router.post(
        "/feedback",
        summary="Rate an answer of a chat, with a comment",
        status_code=204,
        responses=errors(400, 403, 404, 408, 415, 429, 503),
    )
    async def feedback(request: Request, body: AnswerFeedback = rated) -> Response:
        session = await _owned(request, kept)
        try:
            told = body.client_message_id, body.stored_rating, body.comment
            await kept.turns.rate(session, *told)
        except SessionNotFound as error:  # the chat exists: 404 would mean that it does not
            raise InvalidRequest(str(error), param="client_message_id") from error
        return Response(status_code=204)


def _add_delete(router: APIRouter, kept: KeptChats) -> None:
    @router.delete(
        "",
        summary="Delete a chat and its recorded calls",
        status_code=204,
        responses=errors(403, 404, 429, 503),
    )
    async def delete(request: Request) -> Response:
        await kept.delete(request, request.path_params["session_id"])
        return Response(status_code=204)


async def _owned(request: Request, kept: KeptChats) -> Session:
    return await kept.session(request, request.path_params["session_id"])


def integer(request: Request, name: str, default: int, largest: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and 0 < int(text) <= largest):
        raise InvalidRequest(f"{name}: must be a whole number from 1 to {largest}.", param=name)
    return int(text)
