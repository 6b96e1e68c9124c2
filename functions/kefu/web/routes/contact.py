"""`/api/contact` and `/api/sessions/{id}/contact`: how a visitor asks for a person."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol, cast

from fastapi import APIRouter, Depends, Request

from kefu.chat.answer import check_visitor
from kefu.chat.state import Answer
from kefu.sessions.store.contacts import FilledForm
from kefu.web.body import JsonBody
from kefu.web.caller import Gateway
from kefu.web.json_response import JsonRoute
from kefu.web.openapi import errors
from kefu.web.options import BodyLimits
from kefu.web.request_record import record_of
from kefu.web.routes.sessions import owned_session, session_router
from kefu.web.running import ChatRuntime
from kefu.web.schemas import ContactBody, FormField, ShownForm
from kefu.web.sending import PASS_HEADER
from kefu.web.session_chat import KeptChats

if TYPE_CHECKING:
    from kefu.sessions.people.handoff import HandOff


class Deliveries(Protocol):
    """The contact form, and the delivery of its requests."""

    @property
    def handoff(self) -> HandOff: ...

    def deliver(self) -> Awaitable[None]:
        """Begin to deliver a stored request."""
        ...


MAX_FORM_BYTES, MAX_FORM_DEPTH = 32768, 4


def contact_routes(
    deliveries: Deliveries | None, link: str, runtime: ChatRuntime, gateway: Gateway, seconds: float
) -> APIRouter:
    """The form for visitors without a stored chat. `seconds` is the time limit for a body."""
    router = APIRouter(
        prefix="/api/contact", tags=["contact"], route_class=JsonRoute, responses=errors(403)
    )

    @router.get("", summary="The way to a person: a form or a link")
    async def contact() -> ShownForm:
        return _shown(deliveries, link)

    if deliveries:
        _add_submit(router, deliveries, runtime, gateway, seconds)
    return router


def session_contact_routes(
    kept: KeptChats,
    deliveries: Deliveries | None,
    link: str,
    runtime: ChatRuntime,
    gateway: Gateway,
    seconds: float,
) -> APIRouter:
    """The form for visitors with a stored chat, which is sent with the request."""
    router = session_router("/contact")

    @router.get("", summary="The contact form", dependencies=[owned_session(kept)])
    async def form() -> ShownForm:
        return _shown(deliveries, link)

    if deliveries:
        _add_submit(router, deliveries, runtime, gateway, seconds, kept)
    return router


def _add_submit(
    router: APIRouter,
    deliveries: Deliveries,
    runtime: ChatRuntime,
    gateway: Gateway,
    seconds: float,
    kept: KeptChats | None = None,
) -> None:
    form = Depends(JsonBody(ContactBody, BodyLimits(MAX_FORM_BYTES, MAX_FORM_DEPTH, seconds)).read)

    @router.post("", summary="Ask for a person", status_code=204, responses=errors(429, 503))
    async def submit(request: Request, body: ContactBody = form) -> None:
        name = request.path_params.get("session_id", "")
        session = await kept.session(request, name) if kept else None
        handoff, address = deliveries.handoff, gateway.address(request)
        filled = FilledForm(
            body.client_message_id, body.name, body.email, body.message, body.consent
        )
        # First: a mistake costs neither a token of the bot check nor one of the hour's requests.
        handoff.check(session, filled)
        record = record_of(request.scope)
        checked = Answer(record.request_id, record.started, address, body.proof)
        record.answer = checked
        await check_visitor(checked, runtime.services)
        if checked.verification_pass:
            record.answer_headers[PASS_HEADER] = checked.verification_pass
        await runtime.admission.admit_contact(address, session.id if session else "")
        await handoff.submit(session, filled)
        handoff.note_url(gateway.own_url(request))
        await deliveries.deliver()


def _shown(deliveries: Deliveries | None, link: str) -> ShownForm:
    form = deliveries.handoff.form if deliveries else None
    fields = cast(list[FormField], list(form.fields) if form else [])
    return {"fields": fields, "consent": form.consent if form else "", "link": link}
