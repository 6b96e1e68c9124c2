"""JSON responses for text of a model, which may contain unpaired surrogates, and their routes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response


class JsonResponse(JSONResponse):
    def render(self, content: object) -> bytes:
        return encoded(compact(content))


class JsonRoute(APIRoute):
    """A route whose function returns the content of a JSON response, or None for an empty one.

    The function's return type describes the response. FastAPI's response models would copy and
    validate every response, and import pydantic.v1.
    """

    def __init__(self, path: str, endpoint: Callable[..., Awaitable[Any]], **options: Any) -> None:
        @wraps(endpoint)
        async def answer(**given: Any) -> Response:
            content = await endpoint(**given)
            if content is None:
                return Response(status_code=204)
            return content if isinstance(content, Response) else JsonResponse(content)

        super().__init__(path, answer, **{**options, "response_model": None})


def compact(content: object) -> str:
    """JSON without spaces."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def encoded(text: str) -> bytes:
    """Encode JSON text as UTF-8, with unpaired surrogates as JSON escapes (`\\ud800`)."""
    return text.encode(errors="backslashreplace")
