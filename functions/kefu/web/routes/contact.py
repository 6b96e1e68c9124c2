"""`/api/contact` and `/api/sessions/{id}/contact`: how a visitor asks for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fastapi import APIRouter, Depends, Request

from kefu.chat.answer import check_visitor
from kefu.chat.state import Answer
from kefu.sessions.store.contacts import FilledForm
from kefu.sessions.store.model import Session
from kefu.web.body import JsonBody
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
    from kefu.sessions.people.delivery_runner import DeliveryRunner


MAX_FORM_BYTES, MAX_FORM_DEPTH = 32768, 4


def contact_routes(runtime: ChatRuntime, deliveries: DeliveryRunner | None) -> APIRouter:
    """For visitors without a stored chat."""
    router = APIRouter(
        prefix="/api/contact", tags=["contact"], route_class=JsonRoute, responses=errors(403)
    )

    @router.get("", summary="The way to a person: a form or a link")
    async def contact(request: Request) -> ShownForm:
        return _shown(runtime, deliveries, runtime.site_of(request) or "")

    if deliveries:
        _add_submit(router, deliveries, runtime)
    return router


def session_contact_routes(kept: KeptChats, deliveries: DeliveryRunner | None) -> APIRouter:
    """For visitors with a stored chat, which goes with the request."""
    router = session_router("/contact")

    owned = owned_session(kept)

    @router.get("", summary="The contact form")
    async def form(session: Session = owned) -> ShownForm:
        return _shown(kept.runtime, deliveries, session.config_id)

    if deliveries:
        _add_submit(router, deliveries, kept.runtime, kept)
    return router


def _add_submit(
    router: APIRouter,
    deliveries: DeliveryRunner,
    runtime: ChatRuntime,
    kept: KeptChats | None = None,
) -> None:
    limits = BodyLimits(MAX_FORM_BYTES, MAX_FORM_DEPTH, runtime.options.body.seconds)
    form = Depends(JsonBody(ContactBody, limits).read)

    @router.post("", summary="Ask for a person", status_code=204, responses=errors(429, 503))
    async def submit(request: Request, body: ContactBody = form) -> None:
        name = request.path_params.get("session_id", "")
        session = await kept.session(request, name) if kept else None
        handoff, address = deliveries.handoff, runtime.gateway.address(request)
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
        site = session.config_id if session else runtime.site_of(request) or ""
        admission = runtime.services_of(site).admission
        await admission.admit_contact(address, session.id if session else "")
        await handoff.submit(session, filled)
        handoff.note_url(runtime.gateway.own_url(request))
        await deliveries.deliver()


def _shown(runtime: ChatRuntime, deliveries: DeliveryRunner | None, site: str) -> ShownForm:
    form = deliveries.handoff.form if deliveries else None
    fields = cast(list[FormField], list(form.fields) if form else [])
    consent, link = form.consent if form else "", runtime.contact_link_of(site)
    shown: ShownForm = {"fields": fields, "consent": consent, "link": link}
    if (opens_at := runtime.options.opens_at) and (fields or link):
        shown["opens_at"] = opens_at(runtime.gateway.now())
    return shown
