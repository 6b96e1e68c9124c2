"""`POST /api/chat`, the widget's door, with `/cancel` and `/feedback`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from kefu.web.body import checked, read_json
from kefu.web.caller import caller_of
from kefu.web.desk import Desk
from kefu.web.exchange import Direct
from kefu.web.gateway import Gateway
from kefu.web.openapi import errors, stream_response
from kefu.web.options import BodyLimits, WebOptions
from kefu.web.questions import Questions
from kefu.web.record import record_of
from kefu.web.schemas import CancelRequest, ChatRequest, FeedbackRequest

if TYPE_CHECKING:
    from kefu.web.kept import KeptChats


def chat_routes(
    desk: Desk,
    questions: Questions,
    gateway: Gateway,
    options: WebOptions,
    kept: KeptChats | None = None,
) -> APIRouter:
    """`kept`: where chats are."""
    router = APIRouter(tags=["chat"])
    limits = BodyLimits(1024, 4, options.body.seconds)
    _add_chat(router, desk, questions, gateway, kept)
    _add_cancel(router, desk, limits)
    _add_feedback(router, kept, limits)
    return router


def _add_chat(
    router: APIRouter, desk: Desk, questions: Questions, gateway: Gateway, kept: KeptChats | None
) -> None:
    @router.post(
        "/api/chat",
        summary="Ask, and read the answer as it streams",
        responses={
            200: stream_response(),
            **errors(400, 403, 404, 408, 409, 415, 429, 503, 504),
        },
        response_model=None,
    )
    async def chat(request: Request) -> Response:
        if kept is None:
            return direct(request, await questions.read(request, ChatRequest))
        body = await questions.read_either(request)
        if isinstance(body, ChatRequest):
            return direct(request, body)
        return await kept.answer(request, body)

    def direct(request: Request, body: ChatRequest) -> Response:
        return Direct(desk, caller_of(request, body, gateway), questions.question(body))


def _add_cancel(router: APIRouter, desk: Desk, limits: BodyLimits) -> None:
    @router.post(
        "/api/chat/cancel",
        summary="Stop an answer that nobody waits for",
        status_code=204,
        responses=errors(400, 403, 408, 415),
        response_model=None,
    )
    async def cancel(request: Request) -> Response:
        body = checked(CancelRequest, await read_json(request, limits))
        desk.running.cancel(body.client_message_id)
        # The same answer whether there was such a chat or not: ids cannot be probed.
        return Response(status_code=204)


def _add_feedback(router: APIRouter, kept: KeptChats | None, limits: BodyLimits) -> None:
    @router.post(
        "/api/chat/feedback",
        summary="Say what an answer was worth",
        status_code=204,
        responses=errors(400, 403, 404, 408, 415, 429, 503),
        response_model=None,
    )
    async def feedback(request: Request) -> Response:
        body = checked(FeedbackRequest, await read_json(request, limits))
        record = record_of(request.scope)
        record.facts |= {"client_message_id": body.client_message_id, "rating": body.rating}
        if kept is not None and body.session_id is not None:
            session = await kept.session(request, body.session_id)
            rating = None if body.rating == "none" else body.rating
            await kept.turns.rate(session, body.client_message_id, rating)
        return Response(status_code=204)
