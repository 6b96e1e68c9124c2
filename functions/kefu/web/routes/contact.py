"""`/api/contact` and `/api/sessions/{id}/contact`: how a visitor asks for a person."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import JSONResponse

from kefu.chat.answer import check_visitor
from kefu.chat.state import Answer
from kefu.sessions.contacts import FilledForm
from kefu.sessions.model import Session
from kefu.web.body import JsonBody
from kefu.web.caller import Gateway
from kefu.web.openapi import errors, json_response
from kefu.web.options import BodyLimits
from kefu.web.request_record import record_of
from kefu.web.runtime import ChatRuntime
from kefu.web.schemas import ContactBody, FormField, ShownForm
from kefu.web.sending import PASS_HEADER
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


BODY_BYTES, BODY_DEPTH = 32768, 4


class Intake(NamedTuple):
    """Takes filled-in forms."""

    deliveries: Deliveries
    runtime: ChatRuntime
    gateway: Gateway

    async def take(self, request: Request, body: ContactBody, session: Session | None) -> Response:
        """Store and deliver a request, of the stored chat `session` if there is one.

        The form is checked first: a mistake in it costs neither a token of the bot check nor one
        of the requests that are allowed in an hour.
        """
        handoff, address = self.deliveries.handoff, self.gateway.address(request)
        id, name, email, message = body.client_message_id, body.name, body.email, body.message
        filled = FilledForm(id, name, email, message, body.consent)
        handoff.check(session, filled)
        record = record_of(request.scope)
        checked = Answer(record.request_id, record.started, address, body.proof)
        record.answer = checked
        await check_visitor(checked, self.runtime.services)
        if checked.verification_pass:
            record.answer_headers[PASS_HEADER] = checked.verification_pass
        await self.runtime.admission.admit_contact(address, session.id if session else "")
        await handoff.submit(session, filled)
        handoff.note_url(self.gateway.own_url(request))
        await self.deliveries.deliver()
        return Response(status_code=204)


def contact_routes(
    deliveries: Deliveries | None, link: str, runtime: ChatRuntime, gateway: Gateway, seconds: float
) -> APIRouter:
    """For visitors without a stored chat. `seconds` is the time limit for a body."""
    router = APIRouter(prefix="/api/contact", tags=["contact"])

    @router.get(
        "",
        summary="The way to a person: a form or a link",
        responses={200: json_response(ShownForm), **errors(403)},
    )
    async def contact() -> Response:
        return JSONResponse(_shown(deliveries, link))

    if deliveries:
        _add_submit(router, Intake(deliveries, runtime, gateway), seconds)
    return router


def session_contact_routes(
    kept: KeptChats,
    deliveries: Deliveries | None,
    link: str,
    runtime: ChatRuntime,
    gateway: Gateway,
    seconds: float,
) -> APIRouter:
    """For visitors with a stored chat, which goes with the request."""
    router = APIRouter(prefix="/api/sessions/{session_id}/contact", tags=["sessions"])

    @router.get(
        "",
        summary="The contact form",
        responses={200: json_response(ShownForm), **errors(403, 404, 429, 503)},
    )
    async def form(request: Request) -> Response:
        await kept.session(request, request.path_params["session_id"])
        return JSONResponse(_shown(deliveries, link))

    if deliveries:
        _add_submit(router, Intake(deliveries, runtime, gateway), seconds, kept)
    return router


def _add_submit(
    router: APIRouter, intake: Intake, seconds: float, kept: KeptChats | None = None
) -> None:
    filled = Depends(JsonBody(ContactBody, BodyLimits(BODY_BYTES, BODY_DEPTH, seconds)).read)

    @router.post(
        "",
        summary="Ask for a person",
        status_code=204,
        responses=errors(400, 403, *([404] if kept else []), 408, 415, 429, 503),
    )
    async def submit(request: Request, body: ContactBody = filled) -> Response:
        name = request.path_params.get("session_id", "")
        session = await kept.session(request, name) if kept else None
        return await intake.take(request, body, session)


def _shown(deliveries: Deliveries | None, link: str) -> ShownForm:
    form = deliveries.handoff.form if deliveries else None
    fields = cast(list[FormField], list(form.fields) if form else [])
    return {"fields": fields, "consent": form.consent if form else "", "link": link}
