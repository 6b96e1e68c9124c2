"""Answers a deletion in the panel, with a receipt if the operator wants one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from fastapi import Request, Response

from kefu.sessions.people.receipt import NOT_REACHED, Facts, signed_receipt
from kefu.web.admin.panel import Panel


def wants_receipt(request: Request) -> bool:
    return request.query_params.get("receipt") == "true"


async def deleted(
    panel: Panel, request: Request, facts: Facts, left: Callable[[], Awaitable[int]]
) -> Response:
    """With `receipt=true` in the query a signed receipt, else an empty response with 204.

    `facts`: what was deleted. `left` searches for it again, and returns how much it found.
    """
    if not wants_receipt(request):
        return Response(status_code=204)
    whole = {
        "erased_at": f"{datetime.fromtimestamp(panel.clock.now(), UTC):%Y-%m-%dT%H:%M:%S+00:00}",
        "found_by": "panel",
        **facts,
        "found_afterwards": await left(),
        "not_reached": NOT_REACHED,
    }
    candidate = "".join(panel.nonce() for _ in range(4))
    text = await signed_receipt(panel.requests(), candidate, whole)
    return Response(text, media_type="application/json")
