"""C18, T13, T14: allowed origins, compared exactly, before any request to the upstream."""

from __future__ import annotations

import pytest

from tests.fakes.asking import ask, conversation, get
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import exchange, request
from tests.fakes.stage import ORIGIN, Stage

PATHS = ["/api/chat", "/v1/chat/completions"]

STRANGERS = [
    "https://shop.example.evil",
    "https://evil-shop.example",
    "https://www.shop.example",
    "https://shop.example.",
    "http://shop.example",
    "https://shop.example:8443",
    "https://shop.example:443",
    "HTTPS://SHOP.EXAMPLE",
    "https://Shop.Example",
    "https://shop.example/",
    "https://shop.example/path",
    "https://shop.example@evil.example",
    "https://evil.example#https://shop.example",
    "https://shop.example https://evil.example",
    "https://evil.example, https://shop.example",
    "shop.example",
    "null",
    "*",
    "file://",
    "",
]


@pytest.mark.parametrize("origin", STRANGERS)
async def test_t13_stranger_is_refused_before_any_upstream_call(
    shared: Stage, question: str, origin: str
) -> None:
    for path in PATHS:
        answer = await ask(
            shared.url, conversation(question), path=path, headers={"Origin": origin}
        )
        assert (answer.status, answer.error["code"]) == (403, "origin_not_allowed")
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert "origin" in answer.headers["Vary"].lower()
    assert shared.upstream.calls(question) == []


async def test_t13_two_origins_are_refused(shared: Stage, question: str) -> None:
    for pair in ((ORIGIN, "https://evil.example"), ("https://evil.example", ORIGIN), (ORIGIN,) * 2):
        headers = tuple(("Origin", origin) for origin in pair)
        octets = request(body=conversation(question), headers=headers)
        response = await exchange(shared.url, octets)
        assert response.status == 403
        assert "access-control-allow-origin" not in response.headers
    assert shared.upstream.calls(question) == []


async def test_t13_request_without_origin_is_served(shared: Stage, question: str) -> None:
    """Programs send no Origin. CORS is no authorisation."""
    answer = await ask(shared.url, question)
    assert answer.complete
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "origin" in answer.headers["Vary"].lower()


async def test_c18_allowed_page_is_named_exactly_and_without_credentials(
    shared: Stage, question: str
) -> None:
    answer = await shared.ask(question)
    assert answer.headers.get_list("Access-Control-Allow-Origin") == [ORIGIN]
    assert "origin" in answer.headers["Vary"].lower()
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("path", PATHS)
async def test_c18_preflight_of_an_allowed_page(shared: Stage, path: str) -> None:
    response = await get(
        shared.url,
        path,
        method="OPTIONS",
        Origin=ORIGIN,
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers="authorization,content-type,traceparent,x-datadog-origin",
    )
    assert response.status_code in (200, 204)
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "POST" in response.headers["Access-Control-Allow-Methods"]
    # A page's own monitor adds headers to each request of the page, such as traceparent. The star
    # is for all of them, but not for Authorization, and older browsers do not know it.
    assert response.headers["Access-Control-Allow-Headers"] == (
        "*, Content-Type, Authorization, X-Session-Token, X-User-Token"
    )
    assert "origin" in response.headers["Vary"].lower()
    assert "Access-Control-Allow-Credentials" not in response.headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_c18_preflight_of_a_stranger_gets_no_permission(shared: Stage, origin: str) -> None:
    response = await get(
        shared.url,
        "/api/chat",
        method="OPTIONS",
        Origin=origin,
        Access_Control_Request_Method="POST",
    )
    assert response.status_code in (400, 403)
    assert "Access-Control-Allow-Origin" not in response.headers


async def test_c18_several_origins_and_the_servers_own_are_allowed(staged: Staged) -> None:
    running = staged(1, allowed_origins="https://a.example, http://b.example:8080")
    for origin in ("https://a.example", "http://b.example:8080", running.url):
        answer = await ask(running.url, headers={"Origin": origin})
        assert answer.complete
        assert answer.headers["Access-Control-Allow-Origin"] == origin
    assert (await ask(running.url, headers={"Origin": "https://b.example"})).status == 403
    calls = len(running.upstream.journal)
    assert (await ask(running.url, headers={"Origin": "http://127.0.0.1:1"})).status == 403
    assert len(running.upstream.journal) == calls


async def test_c18_star_allows_every_page(staged: Staged) -> None:
    running = staged(1, allowed_origins="*")
    for origin in ("https://any.example", "null"):
        answer = await ask(running.url, headers={"Origin": origin})
        assert answer.complete
        assert answer.headers["Access-Control-Allow-Origin"] in (origin, "*")
        assert "Access-Control-Allow-Credentials" not in answer.headers


async def test_c18_no_origin_is_allowed_by_default(staged: Staged) -> None:
    running = staged(1, allowed_origins="")
    assert (await ask(running.url, headers={"Origin": ORIGIN})).status == 403
    assert (await ask(running.url)).complete


async def test_t13_a_name_that_resolves_to_the_server_is_not_an_allowed_origin(
    staged: Staged,
) -> None:
    """DNS rebinding: the name of a foreign page is made to resolve to the server. The browser then
    sends this name as Host and as Origin.
    """
    running = staged(1)
    hosts = ("evil.example", "203.0.113.5", "10.0.0.1", "127.0.0.1.evil.example", "localhost.evil")
    for host in hosts:
        for scheme in ("http", "https"):
            headers = {"Host": host, "Origin": f"{scheme}://{host}"}
            octets = request(body=conversation("Hello?"), headers=headers)
            response = await exchange(running.url, octets)
            assert response.status == 403, host
            assert "access-control-allow-origin" not in response.headers
    assert running.upstream.journal == []
    refused = await running.service.logged(origin="http://evil.example")
    assert refused["code"] == "origin_not_allowed"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "127.9.9.9"])
async def test_c18_the_servers_own_pages_may_ask_on_loopback(
    shared: Stage, question: str, host: str
) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    octets = request(body=conversation(question), headers=headers)
    response = await exchange(shared.url, octets)
    assert response.status == 200
    assert response.headers["access-control-allow-origin"] == f"http://{host}"


async def test_t13_a_public_name_that_is_listed_may_ask(staged: Staged) -> None:
    running = staged(1, allowed_origins="https://chat.example.com")
    headers = {"Host": "chat.example.com", "Origin": "https://chat.example.com"}
    octets = request(body=conversation("Hello?"), headers=headers)
    assert (await exchange(running.url, octets)).status == 200
