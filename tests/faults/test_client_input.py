"""Requests that are incomplete, invalid or too large: rows C6 to C9; never a 500."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib

import pytest

from tests.fakes.asking import conversation, get
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import RawClient, exchange, request
from tests.fakes.stage import ORIGIN, Stage

ORIGIN_HEADER = {"Origin": ORIGIN}


async def test_c6_an_incomplete_body_times_out_before_any_upstream_call(
    staged: Staged, question: str
) -> None:
    running = staged()
    whole = request(body=conversation(question), headers=ORIGIN_HEADER)
    async with await RawClient.connect(running.url) as visitor:
        began = time.monotonic()
        await visitor.send(whole[:-10])
        response = await visitor.response()
        assert 0.7 < time.monotonic() - began < 20
        assert response.status in (400, 408)
        assert response.json["error"]["code"] in ("request_timeout", "invalid_request")
        assert response.headers["access-control-allow-origin"] == ORIGIN
        assert await visitor.closed(timeout=20)
    assert running.upstream.calls(question) == []


async def test_c6_a_visitor_who_leaves_in_the_body_affects_no_other_request(
    shared: Stage, question: str
) -> None:
    whole = request(body=conversation(question))
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(whole[:-10])
    assert (await shared.ask(question + "next")).complete
    assert len(shared.upstream.calls(question)) == 1


def with_temperature(literal: str) -> bytes:
    whole = json.dumps(conversation("x", temperature="HERE"))
    return whole.replace('"HERE"', literal).encode()


def nested(depth: int) -> bytes:
    whole = json.dumps(conversation("x", unknown="HERE"))
    return whole.replace('"HERE"', "[" * depth + "]" * depth).encode()


BAD_BODIES: dict[str, bytes] = {
    "empty": b"",
    "not json": b"hello",
    "half json": b'{"messages":[{"role":"user"',
    "two values": json.dumps(conversation("x")).encode() + b"{}",
    "null": b"null",
    "number": b"7",
    "list": b"[]",
    "string": b'"messages"',
    "no messages": b"{}",
    "bom": b"\xef\xbb\xbf" + json.dumps(conversation("x")).encode(),
    "utf-16": json.dumps(conversation("x")).encode("utf-16"),
    "utf-16 without bom": json.dumps(conversation("x")).encode("utf-16-le"),
    "utf-32": json.dumps(conversation("x")).encode("utf-32"),
    "bad utf-8": b'{"messages":[{"role":"user","content":"\xff\xfe"}]}',
    "cesu surrogates": b'{"messages":[{"role":"user","content":"\xed\xa0\xbd\xed\xb8\x80"}]}',
    "overlong nul": b'{"messages":[{"role":"user","content":"\xc0\x80"}]}',
    "lone surrogate": rb'{"messages":[{"role":"user","content":"\ud800"}]}',
    "surrogates swapped": rb'{"messages":[{"role":"user","content":"\ude00\ud83d"}]}',
    "surrogate in a key": rb'{"\ud800":1,"messages":[{"role":"user","content":"x"}]}',
    "NaN": with_temperature("NaN"),
    "Infinity": with_temperature("Infinity"),
    "-Infinity": with_temperature("-Infinity"),
    "float overflow": with_temperature("1e999"),
    "huge int": with_temperature("1" * 30),
    "int of 5000 digits": with_temperature("1" * 5000),
    "duplicate keys": b'{"messages":[],"messages":[{"role":"user","content":"x"}]}',
    "duplicate role": b'{"messages":[{"role":"system","role":"user","content":"x"}]}',
    "control character": b'{"messages":[{"role":"user","content":"a\x00b"}]}',
    "nested 33 deep": nested(33),
    "nested 10,000 deep": nested(10_000),
    "messages object": b'{"messages":{"role":"user","content":"x"}}',
    "messages null": b'{"messages":null}',
    "messages empty": b'{"messages":[]}',
    "message null": b'{"messages":[null]}',
    "message string": b'{"messages":["x"]}',
    "no content": b'{"messages":[{"role":"user"}]}',
    "content null": b'{"messages":[{"role":"user","content":null}]}',
    "content number": b'{"messages":[{"role":"user","content":7}]}',
    "content object": b'{"messages":[{"role":"user","content":{"text":"x"}}]}',
    "part without type": b'{"messages":[{"role":"user","content":[{"text":"x"}]}]}',
    "part string": b'{"messages":[{"role":"user","content":["x"]}]}',
    "part image": b'{"messages":[{"role":"user","content":'
    b'[{"type":"image_url","image_url":{"url":"http://evil.example/"}}]}]}',
    "part text number": b'{"messages":[{"role":"user","content":[{"type":"text","text":7}]}]}',
    "no role": b'{"messages":[{"content":"x"}]}',
    "role number": b'{"messages":[{"role":7,"content":"x"}]}',
    "role list": b'{"messages":[{"role":["user"],"content":"x"}]}',
    "last is assistant": json.dumps(conversation("x", "y")).encode(),
    "temperature string": with_temperature('"0.5"'),
    "temperature true": with_temperature("true"),
    "temperature -0.1": with_temperature("-0.1"),
    "temperature 2.1": with_temperature("2.1"),
    "max_tokens 0": json.dumps(conversation("x", max_tokens=0)).encode(),
    "max_tokens -1": json.dumps(conversation("x", max_tokens=-1)).encode(),
    "max_tokens string": json.dumps(conversation("x", max_tokens="5")).encode(),
    "max_tokens float": json.dumps(conversation("x", max_tokens=1.5)).encode(),
    "stream_options string": json.dumps(conversation("x", stream_options="all")).encode(),
}


@pytest.mark.parametrize("name", BAD_BODIES)
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_c7_bad_body_is_a_400_with_our_shape_and_cors(
    shared: Stage, name: str, path: str
) -> None:
    calls = len(shared.upstream.journal)
    answer = await shared.ask(BAD_BODIES[name], path=path)
    assert answer.status == 400
    assert set(answer.error) == {"message", "type", "param", "code"}
    assert answer.error["code"] == "invalid_request"
    assert answer.error["type"] == "invalid_request_error"
    assert answer.error["message"]
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert len(shared.upstream.journal) == calls


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/chat", 405, "method_not_allowed"),
        ("HEAD", "/api/chat", 405, "method_not_allowed"),
        ("PUT", "/api/chat", 405, "method_not_allowed"),
        ("DELETE", "/api/chat", 405, "method_not_allowed"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("GET", "/nowhere", 404, "not_found"),
        ("POST", "/api/chatter", 404, "not_found"),
        ("POST", "/api", 404, "not_found"),
        ("POST", "/api/chat/", 404, "not_found"),
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "not_found"),
        ("GET", "/..%2f..%2fetc%2fpasswd", 404, "not_found"),
        ("GET", "/\u4f60", 404, "not_found"),
    ],
)
async def test_c8_wrong_method_or_path_has_our_shape_and_cors(
    shared: Stage, method: str, path: str, status: int, code: str
) -> None:
    response = await get(shared.url, path, method=method, Origin=ORIGIN)
    assert response.status_code == status
    # Every page may load the public files, only allowed pages may use the API.
    assert response.headers["Access-Control-Allow-Origin"] in (ORIGIN, "*")
    if status == 405:
        assert response.headers["Allow"]
    if method != "HEAD":
        error = response.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["code"] == code
        assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json-patch+json",
        "",
    ],
)
async def test_c8_t14_wrong_content_type_is_415_and_reaches_no_upstream(
    shared: Stage, question: str, kind: str
) -> None:
    """T14: only requests without a preflight have such a type. They are never treated as a chat."""
    answer = await shared.ask(question, headers={"Content-Type": kind})
    assert (answer.status, answer.error["code"]) == (415, "unsupported_media_type")
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert shared.upstream.calls(question) == []


@pytest.mark.parametrize("kind", ["application/json;charset=UTF-8", "Application/JSON"])
async def test_c1_content_type_may_have_parameters_and_any_case(
    shared: Stage, question: str, kind: str
) -> None:
    assert (await shared.ask(question, headers={"Content-Type": kind})).complete


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
async def test_c8_a_compressed_body_is_415_and_says_so(
    shared: Stage, question: str, coding: str
) -> None:
    plain = json.dumps(conversation(question)).encode()
    magic = b"\x28\xb5\x2f\xfd"
    body = {"gzip": gzip.compress(plain), "deflate": zlib.compress(plain), "zstd": magic + plain}
    answer = await shared.ask(body[coding], headers={"Content-Encoding": coding})
    assert (answer.status, answer.error["code"]) == (415, "unsupported_media_type")
    assert "Content-Encoding" in answer.error["message"]


async def test_c8_request_without_content_type_is_415(shared: Stage, question: str) -> None:
    whole = request(body=conversation(question)).replace(b"Content-Type", b"X-Type")
    assert (await exchange(shared.url, whole)).status == 415
    assert shared.upstream.calls(question) == []


@pytest.mark.parametrize(
    "octets",
    [
        b"\r\n\r\n",
        b"HELLO\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /api/chat HTTP/9.9\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST /api/chat HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000,
    ],
    ids=lambda octets: octets[:24].decode("latin-1").strip() or "empty",
)
async def test_c8_a_connection_without_http_is_closed_and_affects_no_other(
    shared: Stage, question: str, octets: bytes
) -> None:
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(octets)
        await visitor.closed(timeout=2.0)
    assert b"HTTP/1.1 500" not in visitor.received
    assert b"HTTP/1.1 200" not in visitor.received
    assert (await shared.ask(question)).complete


@pytest.mark.parametrize("octets", [b"HELLO\r\n\r\n", b"POST /api/chat HTTP/1.1\r\nHost\r\n\r\n"])
async def test_c8_what_is_not_http_gets_a_400_in_our_shape(shared: Stage, octets: bytes) -> None:
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(octets)
        response = await visitor.response()
        assert await visitor.closed(timeout=10)
    assert (response.status, response.json["error"]["code"]) == (400, "invalid_request")
    assert set(response.json["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
@pytest.mark.parametrize("path", ["/api/chat", "/nothing"])
async def test_t4_client_that_sends_ten_megabytes_can_read_the_refusal(
    shared: Stage, connection: str, path: str
) -> None:
    """The client reads only after it has sent everything. Closing the connection at once would
    reset it.
    """
    octets = request(path, b"x" * 10_000_000, headers={"Connection": connection})
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(octets)
        response = await visitor.response()
    assert response.status == (400 if path == "/api/chat" else 404)


@pytest.mark.slow
async def test_t34_client_that_never_sends_the_rest_of_its_body_is_let_go(shared: Stage) -> None:
    octets = request(body=b"x", length=10_000_000, headers={"Connection": "close"})
    async with await RawClient.connect(shared.url) as visitor:
        await visitor.send(octets)
        assert (await visitor.response()).status == 400
        assert await visitor.closed(timeout=10)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"])
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_c7_empty_question_is_refused_before_anything_is_paid(
    shared: Stage, question: str, text: str, path: str
) -> None:
    calls = len(shared.upstream.journal)
    answer = await shared.ask(conversation(question, "hi", text), path=path)
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert len(shared.upstream.journal) == calls


async def test_c7_number_of_tokens_may_be_written_as_a_float(shared: Stage, question: str) -> None:
    assert (await shared.ask(conversation(question, max_tokens=7.0))).complete
    assert shared.upstream.calls(question)[0].body["max_tokens"] == 7


async def test_c9_errors_of_the_upstream_carry_cors(staged: Staged) -> None:
    """Without CORS headers a page sees a network error instead of the error's code."""
    running = staged(1, url="http://127.0.0.1:9/v1")
    answer = await running.ask()
    assert answer.status == 503
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    exposed = answer.headers["Access-Control-Expose-Headers"].lower()
    assert "x-request-id" in exposed
    assert "retry-after" in exposed


async def test_c9_keep_alive_survives_an_error(shared: Stage, question: str) -> None:
    async with await RawClient.connect(shared.url) as visitor:
        for _ in range(3):
            visitor.received = b""
            await visitor.send(request(body=b"nonsense"))
            assert (await visitor.response()).status == 400
            await asyncio.sleep(0)
