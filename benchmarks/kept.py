"""Compares requests of stored chats with requests that contain their history.

One visitor sends one request after the other, with twenty messages in each prompt and all bodies
captured. The figures are the visitor's waiting time and the service's processor time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from statistics import median
from typing import Any

import httpx

from tests.fakes import behaviours as b
from tests.fakes.chatting import STORE
from tests.fakes.stage import Stage, stage

QUESTION, ANSWER = "我的包裹到哪里了？" * 4, "您的包裹明天送到。" * 40
USAGE = {"prompt_tokens": 3000, "completion_tokens": 300, "total_tokens": 3300}


async def stateless(_: httpx.Response | None) -> dict[str, Any]:
    said = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}]
    return {"json": {"messages": [*said * 10, said[0]]}}


async def kept(before: httpx.Response | None) -> dict[str, Any]:
    asked = {"json": {"message": QUESTION}}
    if before is None:
        return asked
    headers = {"X-Session-Token": before.headers["X-Session-Token"]}
    return {
        "json": {"message": QUESTION, "session_id": before.headers["X-Session-Id"]},
        "headers": headers,
    }


async def seconds(running: Stage, asking: Any, requests: int) -> AsyncIterator[tuple[float, float]]:
    """Yield for each request the seconds to the first and to the last byte of its answer."""
    answered: httpx.Response | None = None
    async with httpx.AsyncClient(timeout=20) as visitor:
        for _ in range(requests):
            request = visitor.build_request(
                "POST", f"{running.url}/api/chat", **await asking(answered)
            )
            started = time.perf_counter()
            answered = await visitor.send(request, stream=True)
            assert answered.status_code == 200
            pieces = answered.aiter_raw()
            await anext(pieces)
            first = time.perf_counter() - started
            async for _piece in pieces:
                pass
            yield first, time.perf_counter() - started


async def _measured(running: Stage, asking: Any, requests: int) -> str:
    before = running.service.cpu
    times = [one async for one in seconds(running, asking, requests)]
    spent = 1000 * (running.service.cpu - before) / requests
    first, last = (1000 * median(column) for column in zip(*times, strict=True))
    return f"{asking.__name__:50}{first:10.1f}{last:10.1f}{spent:10.1f}"


def request_lines(requests: int) -> list[str]:
    with stage(1, store=STORE, capture="all") as running:
        running.script(b.answer(*[ANSWER[n : n + 12] for n in range(0, 360, 12)], usage=USAGE))
        asyncio.run(_measured(running, kept, 12))  # fills the history to its maximum length
        lines = [asyncio.run(_measured(running, way, requests)) for way in (stateless, kept)]
    head = (
        f"{'a request with 20 messages, milliseconds':50}{'first':>10}{'last':>10}{'processor':>10}"
    )
    return [head, *lines]
