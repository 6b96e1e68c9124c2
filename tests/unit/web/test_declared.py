"""C4, P32: what a route declares is read strictly, in its order, after the check of its router."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Request, Response

from kefu.errors import InvalidRequest, KefuError, NotFound, Unauthorized
from kefu.web.body import JsonBody, Query, checked
from kefu.web.completion_schemas import CompletionRequest
from kefu.web.error_response import error_response
from kefu.web.json_response import JsonRoute
from kefu.web.options import BodyLimits
from kefu.web.schemas import DoneBody

BODY = Depends(JsonBody(DoneBody, BodyLimits(bytes=64, depth=2, seconds=0.05)).read)
NUMBER = Query("limit", type="integer", minimum=1, maximum=100, default=20)
CHOICE = Query("format", type="string", enum=["json", "md", "txt"], default="json")
FLAG = Query("sources", type="boolean", default=False)


async def check(request: Request) -> None:
    if "authorization" not in request.headers:
        raise Unauthorized("Who are you?")


async def missing() -> None:
    raise NotFound("There is no such thing.")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app, router = FastAPI(), APIRouter(route_class=JsonRoute, dependencies=[Depends(check)])
    app.add_exception_handler(KefuError, lambda _, error: error_response(error))

    @router.post("/done")
    async def done(body: DoneBody = BODY) -> Response:
        return Response(str(body.done))

    @router.get("/text")
    async def text() -> dict[str, str]:
        return {"text": "\ud800é"}

    @router.delete("/done", status_code=204)
    async def delete() -> None:
        pass

    @router.get("/ordered")
    async def ordered(_limit: int = Depends(NUMBER.read), _no: None = Depends(missing)) -> None:
        pass

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


@pytest.mark.parametrize(
    ("field", "value", "param"),
    [
        ("stream", 1, "stream"),
        ("stream_options", {"include_usage": 1}, "stream_options.include_usage"),
        ("messages", [{"role": "user", "content": 1}], "messages.0.content"),
        ("messages", [{"role": "user", "content": [{"type": "x"}]}], "messages.0.content.0.type"),
    ],
)
def test_c4_an_error_names_the_field_and_not_the_type_of_a_union(
    field: str, value: object, param: str
) -> None:
    """The names of `stream` and `stream_options` were left out, because they begin with `str`."""
    with pytest.raises(InvalidRequest) as refused:
        checked(CompletionRequest, {"messages": [{"role": "user", "content": "?"}], field: value})
    assert refused.value.param == param


async def test_p32_the_check_of_a_router_comes_before_its_body(client: httpx.AsyncClient) -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    response = await client.post("/done", content=body())
    assert (response.status_code, read) == (401, [])


async def test_a_returned_object_is_sent_as_json_with_unpaired_surrogates_escaped(
    client: httpx.AsyncClient,
) -> None:
    response = await client.get("/text", headers={"Authorization": "Bearer x"})
    assert response.content == '{"text":"\\ud800é"}'.encode()
    assert response.headers["content-type"] == "application/json"


async def test_a_route_that_returns_nothing_sends_no_content(client: httpx.AsyncClient) -> None:
    response = await client.delete("/done", headers={"Authorization": "Bearer x"})
    assert (response.status_code, response.content) == (204, b"")
    assert "content-type" not in response.headers


@pytest.mark.parametrize(("query", "status"), [("limit=0", 400), ("limit=1", 404)])
async def test_c4_what_a_route_declares_first_is_checked_first(
    client: httpx.AsyncClient, query: str, status: int
) -> None:
    response = await client.get(f"/ordered?{query}", headers={"Authorization": "Bearer x"})
    assert response.status_code == status


@pytest.mark.parametrize(
    ("query", "text", "value"),
    [
        (NUMBER, "", 20),
        (NUMBER, "limit=100", 100),
        (NUMBER, "limit=101", "limit: must be a whole number from 1 to 100."),
        (NUMBER, "limit=%D9%A3", "limit: must be a whole number from 1 to 100."),
        (CHOICE, "", "json"),
        (CHOICE, "format=md", "md"),
        (CHOICE, "format=", "format: must be json, md or txt."),
        (FLAG, "", False),
        (FLAG, "sources=true", True),
        (FLAG, "sources=1", "sources: must be true or false."),
    ],
)
async def test_c4_a_query_parameter_is_checked_by_the_schema_that_describes_it(
    query: Query, text: str, value: object
) -> None:
    request = Request({"type": "http", "query_string": text.encode()})
    try:
        found = await query.read(request)
    except InvalidRequest as error:
        found = str(error)
    assert found == value
