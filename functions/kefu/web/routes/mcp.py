"""`POST /mcp`: assistants search and read the learnt pages. Off by default."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from kefu.auth.client_keys import ClientKeys
from kefu.chat.admission import network_of
from kefu.chat.limits import LimitStore, Rate
from kefu.errors import RateLimited, StoreUnavailable
from kefu.web.body import read_json
from kefu.web.client_key import client_of
from kefu.web.json_response import JsonResponse, JsonRoute
from kefu.web.mcp_messages import reply_to
from kefu.web.openapi import errors
from kefu.web.options import BodyLimits
from kefu.web.page_tools import PageTools
from kefu.web.request_record import record_of
from kefu.web.running import ChatRuntime

if TYPE_CHECKING:
    from kefu.sessions.store.ports import Sessions

PER_ADDRESS: Final = Rate(60, 60)
"""Requests of one address."""
PER_CLIENT: Final = Rate(120, 60)
"""Requests of one key, in place of its address."""
OF_ALL: Final = Rate(600, 60)
"""Requests of all assistants together, so that visitors find the service free."""

MAX_BODY: Final = 16_384
MAX_DEPTH: Final = 16


class Assistants(NamedTuple):
    """What assistants may use, and how much of it."""

    tools: PageTools
    limits: LimitStore
    keys: ClientKeys
    """Without keys, everybody may search."""
    chats: Sessions | None = None
    """Has the sums of days; None for a service that stores nothing."""
    now: Callable[[], float] = lambda: 0.0
    """Unix time."""

    async def admit(self, address: str, client: str) -> None:
        """Count a request, apart from those of visitors. Raises RateLimited."""
        own = f"assistant:{client or network_of(address)}"
        for bucket, rate in ((own, PER_CLIENT if client else PER_ADDRESS), ("assistants", OF_ALL)):
            if (wait := await self.limits.take(bucket, rate)) > 0:
                raise RateLimited(
                    "Too many requests right now. Please wait a moment.",
                    limit="assistants",
                    retry_after=max(1, int(wait + 1)),
                )

    async def note(self) -> None:
        """Add a search or a reading to the sums of the day. A failing store refuses nobody."""
        if self.chats:
            with suppress(StoreUnavailable):
                await self.chats.count_assistant(self.now())


def mcp_routes(runtime: ChatRuntime, assistants: Assistants) -> APIRouter:
    router = APIRouter(tags=["assistants"], route_class=JsonRoute, responses=errors(401, 403, 429))
    limits = BodyLimits(MAX_BODY, MAX_DEPTH, runtime.options.body.seconds)

    @router.post("/mcp", summary="Search and read the learnt pages, by the Model Context Protocol")
    async def mcp(request: Request) -> Response:
        client = await client_of(request, runtime, assistants.keys)
        await assistants.admit(runtime.gateway.address(request), client)
        reply = await reply_to(await read_json(request, limits), request.headers, assistants.tools)
        record = record_of(request.scope)
        record.facts |= reply.facts
        if "tool" in reply.facts:
            await assistants.note()
        if reply.message is None:
            return Response(status_code=reply.status)
        if "error" in reply.message:
            record.code = "mcp_error"
        return JsonResponse(reply.message, reply.status)

    return router
