"""Describes request bodies and streams in OpenAPI, because the routes do not declare them.

The schemas are built when the document is first requested. FastAPI would build models that the
routes declare during import, which slows cold starts.
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
    ContactBody,
    ErrorBody,
    FeedbackRequest,
    Health,
    MessageRequest,
    Ready,
    ResumeRequest,
    ShownAttendance,
    ShownForm,
    ShownMessages,
    ShownSessions,
)

Spec = dict[str, Any]

_BODIES: dict[tuple[str, str], type[BaseModel]] = {
    ("/api/chat", "post"): ChatRequest,
    ("/api/chat/cancel", "post"): CancelRequest,
    ("/api/chat/feedback", "post"): FeedbackRequest,
    ("/api/contact", "post"): ContactBody,
    ("/api/sessions/{session_id}/answer", "post"): ResumeRequest,
    ("/api/sessions/{session_id}/contact", "post"): ContactBody,
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
    # `itemSchema` is the keyword of OpenAPI 3.2 for the items of a stream. FastAPI uses it too.
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
    "after": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "before": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "config_id": {"type": "string"},
    "cursor": {"type": "string"},
    "sources": {"type": "boolean", "default": False},
    "format": {"type": "string", "enum": ["json", "md", "txt"], "default": "json"},
}


def session_parameters(*query: str) -> Spec:
    """Describe the parameters of the session endpoints.

    The routes parse them without FastAPI, so that an invalid id or token gives a 404, not a 422.
    """
    text = {"type": "string"}
    return {
        "parameters": [
            {"name": "session_id", "in": "path", "required": True, "schema": text},
            {"name": "X-Session-Token", "in": "header", "required": True, "schema": text},
            *({"name": name, "in": "query", "schema": _QUERY[name]} for name in query),
        ]
    }


def user_parameters(*query: str) -> Spec:
    """Describe the parameters of the list of a user's sessions."""
    text = {"type": "string"}
    return {
        "parameters": [
            {"name": "X-User-Token", "in": "header", "required": True, "schema": text},
            *({"name": name, "in": "query", "schema": _QUERY[name]} for name in query),
        ]
    }


def _both_forms(operation: Spec) -> None:
    """Describe both bodies of `/api/chat` when chats are stored: a conversation or a message."""
    forms = [{"$ref": _REF.format(model=m.__name__)} for m in (ChatRequest, MessageRequest)]
    operation["requestBody"]["content"]["application/json"]["schema"] = {"oneOf": forms}
    operation["parameters"] = [
        {"name": "X-Session-Token", "in": "header", "schema": {"type": "string"}}
    ]


def describe(app: FastAPI) -> Spec:
    """Return the OpenAPI document. It is built once and cached in the application."""
    if not app.openapi_schema:
        from kefu.web.completion_schemas import CompletionRequest

        bodies: dict[tuple[str, str], type[BaseModel]] = {
            **_BODIES,
            ("/v1/chat/completions", "post"): CompletionRequest,
        }
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for (path, method), model in bodies.items():
            if method in document["paths"].get(path, {}):
                schema = {"$ref": _REF.format(model=model.__name__)}
                body = {"required": True, "content": {"application/json": {"schema": schema}}}
                document["paths"][path][method]["requestBody"] = body
        if "/api/sessions/{session_id}" in document["paths"]:
            _both_forms(document["paths"]["/api/chat"]["post"])
        described = (
            *(ErrorBody, Health, MessageRequest, Ready),
            *(ShownAttendance, ShownForm, ShownMessages, ShownSessions),
            *bodies.values(),
        )
        for model in described:
            definition = TypeAdapter(model).json_schema(ref_template=_REF)
            schemas |= {**definition.pop("$defs", {}), model.__name__: definition}
        app.openapi_schema = document
    return app.openapi_schema
