"""`/admin/api/sessions/{id}/…`: an operator takes over a chat, writes in it, and hands it back."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from kefu.errors import SessionNotFound
from kefu.sessions.model import SessionId
from kefu.sessions.people import Attendance, Line
from kefu.sessions.take_over import change_state, say
from kefu.web.admin.panel import Panel
from kefu.web.admin.view import message
from kefu.web.body import checked, read_json
from kefu.web.caller import Gateway
from kefu.web.json_response import JsonResponse
from kefu.web.options import BodyLimits
from kefu.web.routes.sessions import FAR, integer
from kefu.web.runtime import ChatRuntime
from kefu.web.schemas import LineBody, StateBody

NEWEST = 100
"""Messages that are searched for new ones."""


def talk_routes(
    panel: Panel, runtime: ChatRuntime, gateway: Gateway, body: BodyLimits
) -> APIRouter:
    router = APIRouter(
        prefix="/admin/api/sessions/{session_id}",
        include_in_schema=False,
        default_response_class=Response,
    )
    limits, hide = BodyLimits(32768, 2, body.seconds), runtime.log.secrets.hide

    @router.get("/talk")
    async def talk(request: Request) -> Response:
        """Who answers, and the messages after `after`: the panel asks every few seconds."""
        await panel.check(request, gateway.address(request))
        after = integer(request, "after", 0, FAR)
        store, name = panel.stored_chats(), SessionId(request.path_params["session_id"])
        session = await store.session(name)
        if session is None:
            raise SessionNotFound("There is no such session.")
        newest = await store.messages(name, limit=NEWEST, now=panel.clock.now())
        shown = [message(one) for one in newest if one.id > after]
        return JsonResponse({"attendance": session.attendance._asdict(), "messages": shown})

    @router.post("/state")
    async def state(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        wanted = checked(StateBody, await read_json(request, limits))
        name, now = request.path_params["session_id"], panel.clock.now()
        change = Attendance(wanted.state, hide(wanted.operator), now)
        found = await change_state(panel.stored_chats(), name, change, wanted.taken_from)
        runtime.log.audit(f"state {found.state}", panel.pass_of(request), name)
        return JsonResponse(found._asdict())

    @router.post("/lines")
    async def lines(request: Request) -> Response:
        await panel.check(request, gateway.address(request))
        written = checked(LineBody, await read_json(request, limits))
        name = SessionId(request.path_params["session_id"])
        line = Line(hide(written.text), hide(written.operator), written.client_message_id)
        saved = await say(panel.stored_chats(), name, line, panel.clock.now())
        runtime.log.audit("reply", panel.pass_of(request), name)
        return JsonResponse({"id": saved})

    return router
