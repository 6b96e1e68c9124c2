"""What FastAPI cannot see by itself: bodies we read with our own limits, and streams."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from kefu.web.schemas import ErrorBody

Spec = dict[str, Any]


def body_of(model: type[BaseModel]) -> Spec:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    inline = _inlined(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": inline}}}}


def errors(*statuses: int) -> dict[int | str, Spec]:
    return {status: {"model": ErrorBody} for status in statuses}


def stream_response(*, also_json: bool = False) -> Spec:
    content: Spec = {"text/event-stream": {"schema": {"type": "string"}}}
    if also_json:
        content["application/json"] = {"schema": {"type": "object"}}
    return {"description": "OpenAI chunks as server-sent events", "content": content}


def _inlined(node: Any, definitions: Spec) -> Any:
    """A schema without references: it stands in an operation, away from its definitions."""
    if isinstance(node, dict):
        if "$ref" in node:
            return _inlined(definitions[node["$ref"].rpartition("/")[2]], definitions)
        return {key: _inlined(value, definitions) for key, value in node.items()}
    if isinstance(node, list):
        return [_inlined(value, definitions) for value in node]
    return node
