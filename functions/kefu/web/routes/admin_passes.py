"""`/admin/api/passes`: an operator lists the sign-ins to the panel, and ends them (H24)."""

from __future__ import annotations

from fastapi import APIRouter, Request

from kefu.errors import NotFound
from kefu.sessions.store.passes import PassStore
from kefu.web.admin.panel import Panel, panel_router
from kefu.web.admin.view import Json


def passes_routes(panel: Panel) -> APIRouter:
    router = panel_router(panel, "/passes")

    @router.get("")
    async def passes(request: Request) -> Json:
        """The open sign-ins. `own`: that of the request."""
        own = panel.pass_of(request)
        found = await _stored(panel).sign_ins(panel.clock.now())
        return {"passes": [{**one._asdict(), "own": one.id == own} for one in found]}

    @router.delete("/{id}", status_code=204)
    async def end(request: Request) -> None:
        if not await _stored(panel).end_sign_in(request.path_params["id"], panel.clock.now()):
            raise NotFound("There is no such sign-in.")
        panel.audit(request, "end sign-in")

    return router


def _stored(panel: Panel) -> PassStore:
    if panel.sign_ins is None:
        raise NotFound("This server stores no sign-ins: it stores no chats.")
    return panel.sign_ins
