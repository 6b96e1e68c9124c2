"""Maps every KefuError to HTTP: OpenAI's error object, the status and the headers."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse

from kefu.errors import KefuError
from kefu.relay.sse import encode


def error_event(error: KefuError) -> bytes:
    """Encode the error as the last server-sent event, for a stream whose headers are sent."""
    return encode(json.dumps(error.body(), separators=(",", ":")))


def error_response(error: KefuError) -> JSONResponse:
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.should_retry is not None:
        headers["x-should-retry"] = str(error.should_retry).lower()
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.hangs_up:
        headers["Connection"] = "close"
    return JSONResponse(error.body(), error.status, headers)
