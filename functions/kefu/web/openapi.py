"""What FastAPI cannot see by itself: bodies that we read with our own limits, and streams.

As plain dictionaries, made when the document is first asked for: models in the routes' own
declarations would each be built while the application is imported.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from kefu.web.schemas import CancelRequest, ChatRequest, CompletionRequest, ErrorBody, Health

Spec = dict[str, Any]

_BODIES: dict[tuple[str, str], type[BaseModel]] = {
    ("/api/chat", "post"): ChatRequest,
    ("/api/chat/cancel", "post"): CancelRequest,
    ("/v1/chat/completions", "post"): CompletionRequest,
}
_REF = "#/components/schemas/{model}"


def errors(*statuses: int) -> dict[int | str, Spec]:
    schema = {"$ref": _REF.format(model=ErrorBody.__name__)}
    content = {"application/json": {"schema": schema}}
    return {status: {"description": "An error", "content": content} for status in statuses}


def json_response(model: type[BaseModel]) -> Spec:
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def stream_response(*, also_json: bool = False) -> Spec:
    # OpenAPI 3.2's word for the items of a stream, as FastAPI writes it, too.
    event = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
    content: Spec = {"text/event-stream": {"itemSchema": event}}
    if also_json:
        content["application/json"] = {"schema": {"type": "object"}}
    return {"description": "OpenAI chunks as server-sent events", "content": content}


def describe(app: FastAPI) -> Spec:
    """The OpenAPI document; made once, then kept by the application."""
    if not app.openapi_schema:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for (path, method), model in _BODIES.items():
            if path in document["paths"]:
                schema = {"$ref": _REF.format(model=model.__name__)}
                body = {"required": True, "content": {"application/json": {"schema": schema}}}
                document["paths"][path][method]["requestBody"] = body
        described: tuple[type[BaseModel], ...] = (ErrorBody, Health, *_BODIES.values())
        for model in described:
            whole = model.model_json_schema(ref_template=_REF)
            schemas |= {**whole.pop("$defs", {}), model.__name__: whole}
        app.openapi_schema = document
    return app.openapi_schema
