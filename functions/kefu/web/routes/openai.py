"""`/v1`: an OpenAI-compatible API, with the same limits and the same relay as `/api/chat`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.types import ASGIApp

from kefu.auth.client_keys import ClientKeys
from kefu.chat.answer import make_answer
from kefu.chat.conversation import Stateless
from kefu.errors import NotFound
from kefu.web.caller import answer_of, language_of
from kefu.web.client_key import client_of
from kefu.web.json_response import JsonRoute
from kefu.web.openapi import errors
from kefu.web.questions import Questions
from kefu.web.running import ChatRuntime
from kefu.web.sending import AnswerResponse, Respond
from kefu.web.steps import offering

if TYPE_CHECKING:
    from kefu.web.completion_schemas import ShownModel, ShownModels


def completions_stream(runtime: ChatRuntime, questions: Questions, keys: ClientKeys) -> Respond:
    async def completions(request: Request) -> ASGIApp:
        client = await client_of(request, runtime, keys)
        body = await questions.read_completion(request)
        answer, stream = answer_of(request, body, runtime.gateway), bool(body.stream)
        answer.client = client
        toolbox, offer = runtime.services.toolbox, None
        if toolbox and runtime.options.openai_server_tools:
            offer = offering(runtime, toolbox, None, None, language_of(request))
        # Without a stream the chunks are collected, so their JSON is read.
        question = questions.question(body)
        conversation = Stateless(question, reads_bodies=not stream, offer=offer)
        events = make_answer(answer, conversation, runtime.services)
        return AnswerResponse(runtime, answer, events, stream, body.wants_usage)

    return completions


def openai_routes(runtime: ChatRuntime, keys: ClientKeys) -> APIRouter:
    router = APIRouter(
        prefix="/v1", tags=["openai"], route_class=JsonRoute, responses=errors(401, 403, 429)
    )

    name = runtime.services.chat.sampling.model
    shown: ShownModel = {"id": name, "object": "model", "created": 0, "owned_by": "kefu"}

    @router.get("/models", summary="List the model of this service")
    async def models(request: Request) -> ShownModels:
        await client_of(request, runtime, keys)
        return {"object": "list", "data": [shown]}

    @router.get("/models/{model:path}", summary="Show the model", responses=errors(404))
    async def model(request: Request) -> ShownModel:
        await client_of(request, runtime, keys)
        if request.path_params["model"] != name:
            raise NotFound(f"The one model of this service is {name}.")
        return shown

    return router
