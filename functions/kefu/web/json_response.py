"""JSON of texts that a model wrote, which may hold half of a character."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse


class Json(JSONResponse):
    def render(self, content: object) -> bytes:
        return encoded(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def encoded(text: str) -> bytes:
    """A lone surrogate becomes its escape, which in JSON is the same; nothing else changes."""
    return text.encode(errors="backslashreplace")
