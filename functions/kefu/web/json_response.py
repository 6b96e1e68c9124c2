"""JSON responses for text of a model, which may contain unpaired surrogates."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse


class JsonResponse(JSONResponse):
    def render(self, content: object) -> bytes:
        return encoded(compact(content))


def compact(content: object) -> str:
    """JSON without spaces."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def encoded(text: str) -> bytes:
    """Encode JSON text as UTF-8, with unpaired surrogates as JSON escapes (`\\ud800`)."""
    return text.encode(errors="backslashreplace")
