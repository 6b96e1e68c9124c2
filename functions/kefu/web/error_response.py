"""The one place where errors become HTTP: OpenAI's error object, its status, its headers."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse

from kefu.errors import KefuError


def error_body(error: KefuError) -> dict[str, object]:
    return {
        "error": {
            "message": error.message,
            "type": error.type,
            "param": error.param,
            "code": error.code,
        }
    }


def error_event(error: KefuError) -> bytes:
    """The same as the last event of a stream that has already begun."""
    return b"data: " + json.dumps(error_body(error), separators=(",", ":")).encode() + b"\n\n"


def error_response(error: KefuError) -> JSONResponse:
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.should_retry is not None:
        headers["x-should-retry"] = str(error.should_retry).lower()
    if error.hangs_up:
        headers["Connection"] = "close"
    return JSONResponse(error_body(error), error.status, headers)
