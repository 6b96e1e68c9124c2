"""What stands in front of the service says: whose a request is, and until when to answer it.

Never what a client can write itself. On Lambda the event and its context are in the scope (Mangum
puts them there), or in two headers that the Web Adapter writes over whatever a client sent; these
are read only where nobody but the adapter can reach the server.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from starlette.requests import Request

END_EARLY = 2.0
"""Seconds before its deadline at which a function ends an answer by itself."""


class Gateway:
    def __init__(
        self, now: Callable[[], float], *, trusted_hops: int = 0, behind_adapter: bool = False
    ) -> None:
        """`now`: Unix time. `trusted_hops`: own proxies, see `address`."""
        self._now = now
        self._trusted_hops = trusted_hops
        self._behind_adapter = behind_adapter

    def address(self, request: Request) -> str:
        """The address limits are counted by.

        Behind API Gateway it is the request context's, else the peer's. With `trusted_hops` own
        proxies in front it is that entry of X-Forwarded-For, counted from the right: everything
        further left is the client's word.
        """
        peer = request.client.host if request.client else "unknown"
        if "aws.event" in request.scope:
            return peer  # Mangum made it the request context's
        if self._behind_adapter:
            return _source_ip(_header_object(request, "x-amzn-request-context")) or peer
        if self._trusted_hops:
            chain = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
            hops = [part.strip() for part in chain if part.strip()]
            if len(hops) >= self._trusted_hops:
                return hops[-self._trusted_hops]
        return peer

    def seconds(self, request: Request) -> float | None:
        """How long the answer may take; None: as long as the settings say."""
        left: float | None = None
        if "aws.event" in request.scope:
            if context := request.scope.get("aws.context"):
                left = context.get_remaining_time_in_millis() / 1000
        elif self._behind_adapter:
            deadline = _header_object(request, "x-amzn-lambda-context").get("deadline")
            if isinstance(deadline, int) and deadline:
                left = deadline / 1000 - self._now()
        return None if left is None else max(0.0, left - END_EARLY)


def _header_object(request: Request, name: str) -> dict[str, object]:
    """A header's JSON object; empty when there is none, as in the adapter's own readiness check."""
    try:
        value = json.loads(request.headers.get(name, "{}"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _source_ip(context: dict[str, object]) -> str | None:
    """REST APIs name it in `identity`, HTTP APIs and Function URLs in `http`."""
    for name in ("identity", "http"):
        part = context.get(name)
        if isinstance(part, dict) and isinstance(address := part.get("sourceIp"), str) and address:
            return address
    return None
