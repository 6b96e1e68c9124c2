"""The peer: a minimal Python proxy with Starlette and httpx, which does not read the bytes.

It has no retries, checks, limits or log: `python -m benchmarks.passthrough UPSTREAM_BASE_URL`.
"""

from __future__ import annotations

import sys

import httpx
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from benchmarks.serving import serve


def passthrough(upstream: str) -> Starlette:
    # httpx's default of 100 connections would refuse streams, which would be unfair.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    client = httpx.AsyncClient(timeout=None, limits=limits)
    headers = {"content-type": "application/json", "authorization": "Bearer sk-bench"}

    async def chat(request: Request) -> StreamingResponse:
        body = await request.body()
        url = upstream + "/chat/completions"
        question = client.build_request("POST", url, content=body, headers=headers)
        answer = await client.send(question, stream=True)
        return StreamingResponse(
            answer.aiter_raw(),
            answer.status_code,
            media_type="text/event-stream",
            background=BackgroundTask(answer.aclose),
        )

    return Starlette(routes=[Route("/api/chat", chat, methods=["POST"])])


if __name__ == "__main__":
    serve(passthrough(sys.argv[1]))
