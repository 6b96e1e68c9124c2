"""`POST /api/chat`, the widget's door, and `POST /api/chat/cancel`."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from kefu.web.body import checked, read_json
from kefu.web.exchange import Desk, Exchange
from kefu.web.gateway import Gateway
from kefu.web.openapi import errors, stream_response
from kefu.web.options import BodyLimits, WebOptions
from kefu.web.questions import Questions
from kefu.web.schemas import CancelRequest, ChatRequest


def chat_routes(
    desk: Desk, questions: Questions, gateway: Gateway, options: WebOptions
) -> APIRouter:
    router = APIRouter(tags=["chat"])
    limits = BodyLimits(1024, 4, options.body.seconds)

    @router.post(
        "/api/chat",
        summary="Ask, and read the answer as it streams",
        responses={200: stream_response(), **errors(400, 403, 408, 415, 429, 503, 504)},
        response_model=None,
    )
    async def chat(request: Request) -> Response:
        body = await questions.read(request, ChatRequest)
        return Exchange(
            desk,
            questions.question(body),
            gateway.address(request),
            proof=body.proof,
            seconds=gateway.seconds(request),
            wants_usage=body.wants_usage,
            client_message_id=body.client_message_id,
        )

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

    return router
