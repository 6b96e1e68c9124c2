"""`/api/sessions`: lists the chats of a signed-in user; reads, exports and deletes one chat.

`/api/sessions/{id}/person`: who answers a chat, and the new lines of a person.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from fastapi import APIRouter, Depends, Request, Response
from starlette.types import ASGIApp

from kefu.errors import InvalidRequest, SessionNotFound
from kefu.sessions.store.model import Session, StoredMessage
from kefu.web.body import JsonBody, Query
from kefu.web.json_response import JsonRoute
from kefu.web.openapi import errors, export_response, image_content
from kefu.web.options import BodyLimits
from kefu.web.schemas import (
    MAX_FEEDBACK_BYTES,
    AnswerFeedback,
    ResumeRequest,
    ShownAttendance,
    ShownMessage,
    ShownMessages,
    ShownQuestion,
    ShownSession,
    ShownSessions,
)
from kefu.web.sending import Respond
from kefu.web.session_chat import KeptChats
from kefu.web.steps import add_steps
from kefu.web.transcript import FORMATS

PAGE_MESSAGES, MAX_PAGE_MESSAGES = 20, 100
NEWEST_MESSAGES = 40
"""Messages that are searched for lines of a person."""
MAX_MESSAGE_ID = 2**53
"""Greater than every message id; the largest integer that JSON parsers read exactly."""

_LIMIT = Depends(
    Query("limit", type="integer", minimum=1, maximum=MAX_PAGE_MESSAGES, default=PAGE_MESSAGES).read
)
_BEFORE = Depends(Query("before", type="integer", minimum=1, maximum=MAX_MESSAGE_ID).read)
_CURSOR = Depends(Query("cursor", type="string").read)
_CONFIG = Depends(Query("config_id", type="string").read)
_SOURCES = Depends(Query("sources", type="boolean", default=False).read)
_STEPS = Depends(Query("steps", type="boolean", default=False).read)
_FORMAT = Depends(Query("format", type="string", enum=list(FORMATS), default="json").read)
_SEEN = Depends(Query("seen", type="boolean", default=True).read)
AFTER = Depends(Query("after", type="integer", minimum=1, maximum=MAX_MESSAGE_ID).read)


def session_routes(kept: KeptChats) -> APIRouter:
    router, owned = session_router(), owned_session(kept)
    _add_messages(router, kept, owned)
    _add_image(router, kept)
    _add_export(router, kept, owned)
    _add_feedback(router, kept, owned)
    _add_delete(router, kept)
    return router


def session_router(path: str = "") -> APIRouter:
    """A router of paths under the path of a stored chat."""
    return APIRouter(
        prefix=f"/api/sessions/{{session_id}}{path}",
        tags=["sessions"],
        route_class=JsonRoute,
        responses=errors(403, 404, 429, 503),
    )


def owned_session(kept: KeptChats) -> Any:
    """The dependency of a route on the chat of its path, which must be the visitor's."""

    async def owned(request: Request) -> Session:
        return await kept.session(request, request.path_params["session_id"])

    return Depends(owned)


def user_routes(kept: KeptChats) -> APIRouter:
    router = APIRouter(
        prefix="/api/sessions",
        tags=["sessions"],
        route_class=JsonRoute,
        responses=errors(403, 429, 503),
    )

    @router.get("", summary="The chats of the signed-in user, newest first, each with a new token")
    async def sessions(
        request: Request,
        limit: int = _LIMIT,
        cursor: str | None = _CURSOR,
        config_id: str | None = _CONFIG,
    ) -> ShownSessions:
        try:
            found, following = await kept.listed(request, config_id or "", cursor or None, limit)
        except ValueError:
            raise InvalidRequest("cursor: is not valid.", param="cursor") from None
        shown = [shown_session(session, token) for session, token in found]
        return {"sessions": shown, "cursor": following}

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


def _add_messages(router: APIRouter, kept: KeptChats, owned: Session) -> None:
    @router.get("/messages", summary="The messages of a chat, page by page")
    async def messages(
        limit: int = _LIMIT,
        before: int | None = _BEFORE,
        sources: bool = _SOURCES,
        steps: bool = _STEPS,
        session: Session = owned,
    ) -> ShownMessages:
        page = await kept.sessions.page(session, before, limit)
        if kept.mails:
            await kept.mails.shown(session.id, page)
        shown = kept.sessions.deps.processor.format_history_for_display(page)
        more = page[0].id if len(page) == limit and page[0].id > 1 else None
        links = kept.name_sources(session, shown) if sources else {}
        if steps:
            has_person = session.attendance.state == "person"
            add_steps(shown, page, kept.sessions.deps.clock.now(), has_person=has_person)
        return cast(ShownMessages, {"messages": shown, "before": more, **links})


def resumed_stream(kept: KeptChats) -> Respond:
    """The answer to an earlier message."""
    body = JsonBody(ResumeRequest, BodyLimits(1024, 4, kept.runtime.options.body.seconds))

    async def answer(request: Request) -> ASGIApp:
        resumed = await body.read(request)
        return await kept.resume(request, request.path_params["session_id"], resumed)

    return answer


def _add_image(router: APIRouter, kept: KeptChats) -> None:
    @router.get(
        "/images/{image_id}",
        summary="An image of a message",
        responses={200: image_content()},
    )
    async def image(request: Request) -> Response:
        given = request.path_params
        return await kept.image(request, given["session_id"], given["image_id"])


def _add_export(router: APIRouter, kept: KeptChats, owned: Session) -> None:
    @router.get("/export", summary="A chat as a file", responses={200: export_response()})
    async def export(name: str = _FORMAT, session: Session = owned) -> Response:
        messages: list[StoredMessage] = []
        while page := await kept.sessions.page(
            session, messages[0].id if messages else None, MAX_PAGE_MESSAGES
        ):
            messages[:0] = page
            await asyncio.sleep(0)  # a store may read without a pause
        file_format = FORMATS[name]
        messages = kept.checked(session, messages) if name == "md" else messages
        headers = {"Content-Disposition": f'attachment; filename="chat-{session.id[:8]}.{name}"'}
        # In a thread: a long chat takes longer to write than other chats should wait.
        body = await asyncio.to_thread(lambda: file_format.write(session, messages).encode())
        return Response(body, media_type=file_format.media_type, headers=headers)


def _add_feedback(router: APIRouter, kept: KeptChats, owned: Session) -> None:
    limits = BodyLimits(MAX_FEEDBACK_BYTES, 2, kept.runtime.options.body.seconds)
    rated = Depends(JsonBody(AnswerFeedback, limits).read)

    @router.post("/feedback", summary="Rate an answer of a chat, with a comment", status_code=204)
    async def feedback(body: AnswerFeedback = rated, session: Session = owned) -> None:
        try:
            told = body.client_message_id, body.stored_rating, body.comment
            await kept.sessions.rate(session, *told)
        except SessionNotFound as error:  # no 404, because the chat exists
            raise InvalidRequest(str(error), param="client_message_id") from error


def _add_delete(router: APIRouter, kept: KeptChats) -> None:
    @router.delete("", summary="Delete a chat and its recorded calls", status_code=204)
    async def delete(request: Request) -> None:
        await kept.delete(request, request.path_params["session_id"])


def person_routes(kept: KeptChats) -> APIRouter:
    router = session_router("/person")

    @router.get("", summary="Who answers a chat, and the new messages of a person")
    async def person(
        request: Request, after: int | None = AFTER, seen: bool = _SEEN
    ) -> ShownAttendance:
        session = await kept.polled(request, request.path_params["session_id"])
        # A chat that was never with a person has no lines: most requests read no messages.
        has_lines = session.attendance.since > 0
        newest = await kept.sessions.page(session, None, NEWEST_MESSAGES) if has_lines else ()
        if kept.mails and seen:
            await kept.mails.shown(session.id, newest)
        lines = [message for message in newest if message.operator and message.id > (after or 0)]
        shown = kept.sessions.deps.processor.format_history_for_display(lines)
        state, operator, _ = session.attendance
        is_writing = state == "person" and kept.runtime.running.is_writing(session.id, operator)
        return {
            "state": state,
            "operator": operator,
            "messages": cast(list[ShownMessage], shown),
            "questions": _questions(newest, lines),
            "writing": is_writing,
        }

    return router


def _questions(
    newest: Sequence[StoredMessage], lines: Sequence[StoredMessage]
) -> list[ShownQuestion]:
    """The visitor's messages behind the first of the lines, for pages that show them already."""
    return [
        {"id": one.id, "client_message_id": one.client_message_id}
        for one in newest
        if lines and one.role == "user" and one.id > lines[0].id and one.client_message_id
    ]
