"""C4, P32: a declared body is read strictly, and only after the check of its router."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Request, Response

from kefu.errors import KefuError, Unauthorized
from kefu.web.body import JsonBody
from kefu.web.error_response import error_response
from kefu.web.options import BodyLimits
from kefu.web.schemas import DoneBody

BODY = Depends(JsonBody(DoneBody, BodyLimits(bytes=64, depth=2, seconds=0.05)).read)


async def check(request: Request) -> None:
    if "authorization" not in request.headers:
        raise Unauthorized("Who are you?")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app, router = FastAPI(), APIRouter(dependencies=[Depends(check)])
    app.add_exception_handler(KefuError, lambda _, error: error_response(error))

    @router.post("/done")
    async def done(body: DoneBody = BODY) -> Response:
        return Response(str(body.done))

    app.include_router(router)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://kefu") as client:
        yield client


async def sent(client: httpx.AsyncClient, content: bytes | AsyncIterator[bytes]) -> tuple[int, str]:
    headers = {"Authorization": "Bearer x", "Content-Type": "application/json"}
    response = await client.post("/done", content=content, headers=headers)
    return response.status_code, response.text


async def test_a_declared_body_is_given_to_its_route(
    client: httpx.AsyncClient,
) -> None:
    assert await sent(client, b'{"done": true}') == (200, "True")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"done": true, "done": true}', "The body contains the same key twice."),
        (b'{"done": NaN}', "NaN is not valid JSON."),
        (b"[[[1]]]", "The body is nested deeper than 2 levels."),
        (b'{"done": "' + b"x" * 64 + b'"}', "The body is longer than 64 bytes."),
        (b'{"done": 1}', "done: Input should be a valid boolean"),
        (b"null", "body: Input should be a valid dictionary or instance of DoneBody"),
    ],
)
async def test_c4_what_fastapi_alone_would_take_is_refused(
    client: httpx.AsyncClient, content: bytes, said: str
) -> None:
    status, text = await sent(client, content)
    assert (status, said in text) == (400, True), text


async def test_p32_the_check_of_a_router_comes_before_its_body(client: httpx.AsyncClient) -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    response = await client.post("/done", content=body())
    assert (response.status_code, read) == (401, [])
