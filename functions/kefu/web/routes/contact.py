"""`/api/sessions/{id}/contact`: the form with which a visitor asks for a person."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from kefu.sessions.contacts import FilledForm
from kefu.web.body import checked, read_json
from kefu.web.openapi import errors, json_response, session_parameters
from kefu.web.options import BodyLimits
from kefu.web.schemas import ContactBody, ShownForm
from kefu.web.session_chat import KeptChats

if TYPE_CHECKING:
    from kefu.sessions.handoff import HandOff


class Deliveries(Protocol):
    """The contact form, and the delivery of its requests."""

    @property
    def handoff(self) -> HandOff: ...

    def deliver(self) -> Awaitable[None]:
        """Begin to deliver a stored request."""
        ...


def contact_routes(kept: KeptChats, deliveries: Deliveries | None, body: BodyLimits) -> APIRouter:
    """`deliveries` is None on a server without a contact form."""
    router = APIRouter(prefix="/api/sessions/{session_id}/contact", tags=["sessions"])

    @router.get(
        "",
        summary="The contact form",
        responses={200: json_response(ShownForm), **errors(403, 404, 429, 503)},
        response_model=None,
        openapi_extra=session_parameters(),
    )
    async def form(request: Request) -> Response:
        await kept.session(request, request.path_params["session_id"])
        if deliveries is None:
            return JSONResponse({"fields": [], "consent": ""})
        return JSONResponse(deliveries.handoff.form._asdict())

    if deliveries is None:
        return router

    @router.post(
        "",
        summary="Ask for a person",
        status_code=204,
        responses=errors(400, 403, 404, 408, 415, 429, 503),
        response_model=None,
        openapi_extra=session_parameters(),
    )
    async def submit(request: Request) -> Response:
        filled = checked(ContactBody, await read_json(request, BodyLimits(32768, 4, body.seconds)))
        session = await kept.session(request, request.path_params["session_id"])
        await deliveries.handoff.submit(
            session,
            FilledForm(
                filled.client_message_id, filled.name, filled.email, filled.message, filled.consent
            ),
        )
        await deliveries.deliver()
        return Response(status_code=204)

    return router
