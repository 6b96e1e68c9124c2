"""`POST /api/chat`, the endpoint of the widget, with `/cancel` and `/feedback`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, Request
from starlette.types import ASGIApp

from kefu.chat.answer import make_answer
from kefu.chat.conversation import Stateless
from kefu.web.body import JsonBody
from kefu.web.caller import answer_of, language_of
from kefu.web.json_response import JsonRoute
from kefu.web.openapi import errors
from kefu.web.options import BodyLimits
from kefu.web.questions import Questions
from kefu.web.request_record import record_of
from kefu.web.running import ChatRuntime
from kefu.web.schemas import MAX_FEEDBACK_BYTES, CancelRequest, ChatRequest, FeedbackRequest
from kefu.web.sending import AnswerResponse, Respond
from kefu.web.steps import offering

if TYPE_CHECKING:
    from kefu.sessions.people.delivery_runner import DeliveryRunner
    from kefu.web.session_chat import KeptChats


def chat_stream(
    runtime: ChatRuntime,
    questions: Questions,
    kept: KeptChats | None = None,
    contact: DeliveryRunner | None = None,
) -> Respond:
    """`kept` is None when the server does not store chats, `contact` without a contact form."""

    async def chat(request: Request) -> ASGIApp:
        if contact:  # in Lambda, requests for a person are delivered during a chat
            contact.handoff.note_url(runtime.gateway.own_url(request))
        if kept is None:
            return await direct(request, await questions.read(request, ChatRequest))
        body = await questions.read_either(request)
        if isinstance(body, ChatRequest):
            return await direct(request, body)
        return await kept.answer(request, body)

    async def direct(request: Request, body: ChatRequest) -> ASGIApp:
        configs, services = kept.sessions.deps.configs if kept else None, runtime.services
        toolbox, config, offer = services.toolbox, None, None
        if sites := runtime.sites:
            config = sites.configs.chosen(body.config_id, sites.of(request))
            services = runtime.services_of(config.id)
        elif configs and (toolbox or body.config_id is not None):
            config = configs.chosen(body.config_id)
        question = questions.preset(body, config)
        if toolbox:
            user = await kept.visitor(request) if kept else None
            names = config.tools if config else None
            offer = offering(runtime, toolbox, names, user, language_of(request))
        conversation = Stateless(question, reads_bodies=False, offer=offer)
        answer = answer_of(request, body, runtime.gateway)
        events = make_answer(answer, conversation, services)
        return AnswerResponse(runtime, answer, events, wants_usage=body.wants_usage)

    return chat


def chat_routes(runtime: ChatRuntime, kept: KeptChats | None = None) -> APIRouter:
    """`kept` is None when the server does not store chats."""
    router = APIRouter(tags=["chat"], route_class=JsonRoute, responses=errors(403, 429))
    limits = BodyLimits(MAX_FEEDBACK_BYTES, 4, runtime.options.body.seconds)
    _add_cancel(router, runtime, limits)
    _add_feedback(router, runtime, kept, limits)
    return router


def _add_cancel(router: APIRouter, runtime: ChatRuntime, limits: BodyLimits) -> None:
    cancelled = Depends(JsonBody(CancelRequest, limits).read)

    @router.post("/api/chat/cancel", summary="Cancel an answer in progress", status_code=204)
    async def cancel(request: Request, body: CancelRequest = cancelled) -> None:
        await runtime.admission.admit_note(runtime.gateway.address(request))
        # The response is the same for an unknown id, so that clients cannot probe ids.
        runtime.running.cancel(body.client_message_id)


def _add_feedback(
    router: APIRouter, runtime: ChatRuntime, kept: KeptChats | None, limits: BodyLimits
) -> None:
    rated = Depends(JsonBody(FeedbackRequest, limits).read)

    @router.post(
        "/api/chat/feedback",
        summary="Rate an answer",
        status_code=204,
        responses=errors(404, 503),
    )
    async def feedback(request: Request, body: FeedbackRequest = rated) -> None:
        record = record_of(request.scope)
        record.facts |= {"client_message_id": body.client_message_id, "rating": body.rating}
        if kept is None or body.session_id is None:
            await runtime.admission.admit_note(runtime.gateway.address(request))
        else:
            session = await kept.session(request, body.session_id)
            told = body.client_message_id, body.stored_rating, body.comment
            await kept.sessions.rate(session, *told)
