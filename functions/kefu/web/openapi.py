"""The OpenAPI document. FastAPI describes the routes, and this module their bodies and schemas.

The schemas are built when the document is first requested. FastAPI would build the validators of
its own bodies and response models during import, which slows cold starts.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.routing import Route

from kefu.web import schemas
from kefu.web.body import JsonBody, Query

Spec = dict[str, Any]

_REF = "#/components/schemas/{model}"


def json_response(model: str, description: str = "OK") -> Spec:
    schema = {"$ref": _REF.format(model=model)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def errors(*statuses: int) -> dict[int | str, Any]:
    return {str(status): json_response("ErrorBody", "An error") for status in statuses}


def _answers(*refused: int, also_json: bool = False) -> dict[int | str, Any]:
    # `itemSchema` is OpenAPI 3.2's keyword for the items of a stream, also in FastAPI.
    event = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
    content: Spec = {"text/event-stream": {"itemSchema": event}}
    if also_json:
        content["application/json"] = {"schema": {"type": "object"}}
    described = {"description": "OpenAI chunks as server-sent events", "content": content}
    return {"200": described, **errors(*refused)}


def export_response() -> Spec:
    types = ("application/json", "text/markdown", "text/plain")
    return {"description": "A download", "content": {kind: {} for kind in types}}


def image_content() -> Spec:
    types = ("image/jpeg", "image/png", "image/webp")
    return {"description": "An image", "content": {kind: {} for kind in types}}


def _required(name: str, place: str) -> Spec:
    return {"name": name, "in": place, "required": True, "schema": {"type": "string"}}


def describe(app: FastAPI, routers: Iterable[APIRouter]) -> Spec:
    """Return the OpenAPI document. The document is built once and cached in the application."""
    if not app.openapi_schema:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        for route in (route for router in routers for route in router.routes):
            if isinstance(route, APIRoute) and route.include_in_schema:
                _add_declared(document["paths"][route.path_format], route)
        for route in app.routes:
            if isinstance(route, Route) and route.path in _STREAMS:
                document["paths"][route.path] = {"post": _STREAMS[route.path]}
        chat = document["paths"]["/api/chat"]["post"]
        if "/api/sessions/{session_id}" not in document["paths"]:  # there are no stored chats
            chat = {**chat, "requestBody": _body("ChatRequest")}
            del chat["parameters"]
            document["paths"]["/api/chat"]["post"] = chat
        document["components"] = {"schemas": _schemas(json.dumps(document))}
        app.openapi_schema = document
    return app.openapi_schema


def _add_declared(path: Spec, route: APIRoute) -> None:
    """Add what a route declares: its parameters, its body, its response, and their errors."""
    for operation in (path[method.lower()] for method in route.methods or ()):
        responses, parameters = operation["responses"], _parameters(route.path_format)
        for dependency in route.dependant.dependencies:
            declared = getattr(dependency.call, "__self__", None)
            if isinstance(declared, JsonBody):
                operation["requestBody"] = _body(declared.model.__name__)
                responses |= errors(400, 408, 415)
            elif isinstance(declared, Query):
                query = {"name": declared.name, "in": "query", "schema": declared.schema}
                parameters.append(query)
                responses |= errors(400)
        if parameters:
            operation["parameters"] = parameters
        returned = route.endpoint.__annotations__["return"]
        if returned in _models():
            responses["200"] = json_response(returned)


def _parameters(path: str) -> list[Spec]:
    """Parameters that a route reads itself, so that an invalid one gives a 404, not a 422."""
    found = [_required(name, "path") for name in re.findall(r"{(\w+)}", path)]
    if path.startswith("/api/sessions"):
        found.append(_required("X-Session-Token" if found else "X-User-Token", "header"))
    return found


def _body(*models: str) -> Spec:
    first, *others = ({"$ref": _REF.format(model=model)} for model in models)
    schema = {"oneOf": [first, *others]} if others else first
    return {"required": True, "content": {"application/json": {"schema": schema}}}


_STREAMS: Mapping[str, Spec] = {
    "/api/chat": {
        "tags": ["chat"],
        "summary": "Ask a question and stream the answer",
        "operationId": "chat_api_chat_post",
        # A conversation, or a message of a stored chat.
        "requestBody": _body("ChatRequest", "MessageRequest"),
        "parameters": [{"name": "X-Session-Token", "in": "header", "schema": {"type": "string"}}],
        "responses": _answers(400, 403, 404, 408, 409, 415, 422, 429, 503, 504),
    },
    "/api/sessions/{session_id}/answer": {
        "tags": ["sessions"],
        "summary": "Take up the answer to an earlier message",
        "operationId": "answer_api_sessions__session_id__answer_post",
        "requestBody": _body("ResumeRequest"),
        "parameters": _parameters("/api/sessions/{session_id}/answer"),
        "responses": _answers(400, 403, 404, 408, 409, 415, 429, 503, 504),
    },
    "/v1/chat/completions": {
        "tags": ["openai"],
        "summary": "OpenAI's chat completions, streaming or not",
        "operationId": "completions_v1_chat_completions_post",
        "requestBody": _body("CompletionRequest"),
        "responses": _answers(400, 401, 403, 408, 415, 429, 503, 504, also_json=True),
    },
}
"""The paths whose responses are answers. FastAPI does not describe such plain routes."""


@functools.cache
def _models() -> Spec:
    """The types of bodies by name; the types of `/v1` are imported with its first request."""
    from kefu.web import completion_schemas

    return {**vars(completion_schemas), **vars(schemas)}


def _schemas(document: str) -> Spec:
    """Return the schemas that a document refers to."""
    described: Spec = {}
    for name in sorted(set(re.findall(_REF.format(model=r"(\w+)"), document))):
        definition = TypeAdapter(_models()[name]).json_schema(ref_template=_REF)
        described |= {**definition.pop("$defs", {}), name: definition}
    return described
