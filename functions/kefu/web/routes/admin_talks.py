"""`/admin/api/sessions/{id}/…`: an operator takes over a chat, writes in it, and hands it back."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request

from kefu.errors import SessionNotFound
from kefu.sessions.people.take_over import change_state, say
from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.model import SessionId
from kefu.web.admin.panel import Panel, panel_router
from kefu.web.admin.view import Json, message
from kefu.web.body import JsonBody
from kefu.web.options import BodyLimits
from kefu.web.routes.sessions import AFTER
from kefu.web.schemas import LineBody, StateBody, WritingBody

NEWEST_MESSAGES = 100
"""The newest messages, among which new messages are searched."""


def talk_routes(panel: Panel) -> APIRouter:
    limits = BodyLimits(32768, 2, panel.runtime.options.body.seconds)
    hide = panel.runtime.log.secrets.hide
    router = panel_router(panel, "/sessions/{session_id}")
    state_body = Depends(JsonBody(StateBody, limits).read)
    line_body = Depends(JsonBody(LineBody, limits).read)
    writing_body = Depends(JsonBody(WritingBody, limits).read)

    @router.get("/talk")
    async def talk(request: Request, after: int | None = AFTER) -> Json:
        """The attendance, and the messages after `after`: the panel asks every few seconds."""
        store, name = panel.stored_chats(), SessionId(request.path_params["session_id"])
        session = await store.session(name)
        if session is None:
            raise SessionNotFound("There is no such session.")
        newest = await store.messages(name, limit=NEWEST_MESSAGES, now=panel.clock.now())
        shown = [message(one) for one in newest if one.id > (after or 0)]
        return {"attendance": session.attendance._asdict(), "messages": shown}

    @router.post("/state")
    async def state(request: Request, wanted: StateBody = state_body) -> Json:
        name = request.path_params["session_id"]
        operator = hide(panel.operator_of(request, wanted.operator))
        change = Attendance(wanted.state, operator, panel.clock.now())
        found = await change_state(panel.stored_chats(), name, change, wanted.taken_from)
        panel.audit(request, f"state {found.state}", name)
        return found._asdict()

    @router.post("/lines")
    async def lines(request: Request, written: LineBody = line_body) -> Json:
        name = SessionId(request.path_params["session_id"])
        operator = hide(panel.operator_of(request, written.operator))
        line = OperatorMessage(hide(written.text), operator, written.client_message_id)
        saved = await say(panel.stored_chats(), name, line, panel.clock.now())
        panel.runtime.running.write(name, operator, ends=True)
        panel.audit(request, "reply", name)
        return {"id": saved}

    @router.post("/writing", status_code=204)
    async def writing(request: Request, written: WritingBody = writing_body) -> None:
        """The panel repeats it while the operator writes. It reads no chat: no audit line."""
        operator = hide(panel.operator_of(request, written.operator))
        panel.runtime.running.write(request.path_params["session_id"], operator)

    return router
