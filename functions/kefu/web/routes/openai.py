"""`/v1`: the door for OpenAI clients. The same limits, the same relay."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from kefu.web.caller import caller_of
from kefu.web.desk import Desk
from kefu.web.exchange import Direct
from kefu.web.gateway import Gateway
from kefu.web.openapi import errors, stream_response
from kefu.web.questions import Questions
from kefu.web.schemas import CompletionRequest


def openai_routes(desk: Desk, questions: Questions, gateway: Gateway) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["openai"])

    @router.post(
        "/chat/completions",
        summary="OpenAI's chat completions, streaming or not",
        responses={
            200: stream_response(also_json=True),
            **errors(400, 403, 408, 415, 429, 503, 504),
        },
        response_model=None,
    )
    async def completions(request: Request) -> Response:
        body = await questions.read(request, CompletionRequest)
        caller = caller_of(request, body, gateway, stream=bool(body.stream))
        return Direct(desk, caller, questions.question(body))

    @router.get("/models", summary="The one model behind this service", response_model=None)
    async def models() -> Response:
        model = {"id": desk.chat.model, "object": "model", "created": 0, "owned_by": "kefu"}
        return JSONResponse({"object": "list", "data": [model]})

    return router
