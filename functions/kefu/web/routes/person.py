"""`/api/sessions/{id}/person`: who answers a chat, and the new lines of a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from fastapi import APIRouter, Request

from kefu.sessions.store.model import StoredMessage
from kefu.web.routes.sessions import AFTER, session_router
from kefu.web.schemas import ShownAttendance, ShownMessage, ShownQuestion
from kefu.web.session_chat import KeptChats

NEWEST_MESSAGES = 40
"""Messages that are searched for lines of a person."""


def person_routes(kept: KeptChats) -> APIRouter:
    router = session_router("/person")

    @router.get("", summary="Who answers a chat, and the new messages of a person")
    async def person(request: Request, after: int | None = AFTER) -> ShownAttendance:
        session = await kept.polled(request, request.path_params["session_id"])
        newest = await kept.sessions.page(session, None, NEWEST_MESSAGES)
        lines = [message for message in newest if message.operator and message.id > (after or 0)]
        return {
            "state": session.attendance.state,
            "operator": session.attendance.operator,
            "messages": _shown(kept, lines),
            "questions": _questions(newest, lines),
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


def _shown(kept: KeptChats, lines: Sequence[StoredMessage]) -> list[ShownMessage]:
    shown = kept.sessions.deps.processor.format_history_for_display(lines)
    return cast(list[ShownMessage], shown)
