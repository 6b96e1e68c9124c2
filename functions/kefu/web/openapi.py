"""What FastAPI cannot see by itself: bodies that we read with our own limits, and streams.

As plain dictionaries, made when the document is first asked for: models in the routes' own
declarations would each be built while the application is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter

from kefu.web.schemas import (
    CancelRequest,
    ChatRequest,
    CompletionRequest,
    ErrorBody,
    FeedbackRequest,
    Health,
    MessageRequest,
    ShownMessages,
)

Spec = dict[str, Any]

_BODIES: dict[tuple[str, str], type[BaseModel]] = {
    ("/api/chat", "post"): ChatRequest,
    ("/api/chat/cancel", "post"): CancelRequest,
    ("/api/chat/feedback", "post"): FeedbackRequest,
    ("/v1/chat/completions", "post"): CompletionRequest,
}
_REF = "#/components/schemas/{model}"


def errors(*statuses: int) -> dict[int | str, Spec]:
    schema = {"$ref": _REF.format(model=ErrorBody.__name__)}
    content = {"application/json": {"schema": schema}}
    return {status: {"description": "An error", "content": content} for status in statuses}


def json_response(model: type[Mapping[str, object]]) -> Spec:
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def stream_response(*, also_json: bool = False) -> Spec:
    # OpenAPI 3.2's word for the items of a stream, as FastAPI writes it, too.
    event = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
    content: Spec = {"text/event-stream": {"itemSchema": event}}
    if also_json:
        content["application/json"] = {"schema": {"type": "object"}}
    return {"description": "OpenAI chunks as server-sent events", "content": content}


def export_response() -> Spec:
    types = ("application/json", "text/markdown", "text/plain")
    return {"description": "A download", "content": {kind: {} for kind in types}}


_QUERY: Mapping[str, Spec] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
    "before": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "format": {"type": "string", "enum": ["json", "md", "txt"], "default": "json"},
}


def session_parameters(*query: str) -> Spec:
    """Read by hand: whatever is wrong with an id or a token is one and the same 404."""
    text = {"type": "string"}
    return {
        "parameters": [
            {"name": "session_id", "in": "path", "required": True, "schema": text},
            {"name": "X-Session-Token", "in": "header", "required": True, "schema": text},
            *({"name": name, "in": "query", "schema": _QUERY[name]} for name in query),
        ]
    }


def _both_forms(operation: Spec) -> None:
    """Where chats are kept: a whole conversation or one message, and never both."""
    forms = [{"$ref": _REF.format(model=m.__name__)} for m in (ChatRequest, MessageRequest)]
    operation["requestBody"]["content"]["application/json"]["schema"] = {"oneOf": forms}
    operation["parameters"] = [
        {"name": "X-Session-Token", "in": "header", "schema": {"type": "string"}}
    ]


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
        if "/api/sessions/{session_id}" in document["paths"]:
            _both_forms(document["paths"]["/api/chat"]["post"])
        described = (ErrorBody, Health, MessageRequest, ShownMessages, *_BODIES.values())
        for model in described:
            whole = TypeAdapter(model).json_schema(ref_template=_REF)
            schemas |= {**whole.pop("$defs", {}), model.__name__: whole}
        app.openapi_schema = document
    return app.openapi_schema
