"""The pages and files that browsers load: C16, C17, T24, T30, and `/health`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fakes.asking import ask, get
from tests.fakes.fixtures import Staged
from tests.fakes.stage import ORIGIN, Stage

WIDGET = Path(__file__).parents[2] / "functions/kefu/web/static/widget"


async def test_c17_health_is_ok_and_contains_no_secret(shared: Stage) -> None:
    response = await get(shared.url, "/health")
    assert response.status_code == 200
    assert response.json()["status"] == "ok"
    assert not [key for key in shared.keys if key in response.text]
    assert shared.upstream.base_url not in response.text


async def test_c17_health_asks_no_upstream(shared: Stage) -> None:
    calls = len(shared.upstream.journal)
    await get(shared.url, "/health")
    assert len(shared.upstream.journal) == calls


@pytest.mark.parametrize("path", ["/", "/playground", "/gallery"])
async def test_c17_t24_page_cannot_be_framed(shared: Stage, path: str) -> None:
    response = await get(shared.url, path)
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/html")
    policy = response.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert ".js" in response.text


async def test_t24_stage_is_framed_by_our_own_pages_alone(shared: Stage) -> None:
    response = await get(shared.url, "/stage")
    assert response.status_code == 200
    policy = response.headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'self'")
    assert "frame-src" not in policy


async def test_t24_pages_refer_only_to_served_files(shared: Stage) -> None:
    for path in ("/", "/playground", "/gallery", "/stage"):
        page = await get(shared.url, path)
        parts = re.findall(r'(?:src|href)="(/[^"]*)"', page.text)
        scripts = [part for part in parts if part.endswith(".js") and "widget" not in part]
        assert scripts
        for part in parts:
            response = await get(shared.url, part)
            assert response.status_code == 200 or "widget" in part, part
        for script in scripts:
            imported = re.findall(r'from "(/[^"]*)"', (await get(shared.url, script)).text)
            for part in imported:
                assert (await get(shared.url, part)).status_code == 200, part


async def test_c17_demo_page_can_be_switched_off(staged: Staged) -> None:
    running = staged(1, demo="false")
    for path in ("/", "/playground", "/gallery", "/stage", "/page.js", "/demo.css"):
        assert (await get(running.url, path)).status_code == 404, path
    assert (await get(running.url, "/health")).status_code == 200


async def test_c16_widget_is_cached_revalidated_and_open_to_all(shared: Stage) -> None:
    response = await get(shared.url, "/chat-widget.js", Origin="https://any.example")
    if response.status_code == 404:
        pytest.skip("the widget is not built: make setup")
    assert response.headers["Content-Type"].startswith("text/javascript")
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Cache-Control"] == "public, max-age=3600"
    assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    etag = response.headers["ETag"]
    again = await get(shared.url, "/chat-widget.js", If_None_Match=etag)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == etag
    # Without an Origin too: a cache may reuse this response for a request that has one.
    assert again.headers["Access-Control-Allow-Origin"] == "*"
    changed = await get(shared.url, "/chat-widget.js", If_None_Match='"other"')
    assert changed.content == response.content


@pytest.mark.parametrize("coding", ["br", "gzip"])
async def test_c16_widget_is_served_compressed(shared: Stage, coding: str) -> None:
    plain = await get(shared.url, "/chat-widget.all.js", Accept_Encoding="identity")
    if plain.status_code == 404:
        pytest.skip("the widget is not built: make setup")
    packed = await get(shared.url, "/chat-widget.all.js", Accept_Encoding=coding)
    assert packed.headers["Content-Encoding"] == coding
    assert "accept-encoding" in packed.headers["Vary"].lower()
    assert int(packed.headers["Content-Length"]) < len(plain.content) / 2
    assert packed.headers["ETag"] != plain.headers["ETag"]
    if coding == "gzip":
        assert packed.content == plain.content


async def test_c16_w2_every_file_of_the_widget_is_served_to_all_sites(shared: Stage) -> None:
    """Files with a hash in their name may be cached for a year, the others for an hour: without a
    CDN, a visitor's pages ask the service at most once an hour.
    """
    manifest = await get(shared.url, "/chat-widget.json")
    if manifest.status_code == 404:
        pytest.skip("the widget is not built: make setup")
    names = [path.name for path in WIDGET.iterdir() if path.suffix in (".js", ".json")]
    assert manifest.json()["file"] in names
    for name in names:
        response = await get(shared.url, f"/{name}", Origin="https://any.example")
        assert response.status_code == 200, name
        assert response.headers["Access-Control-Allow-Origin"] == "*", name
        plain = {"chat-widget.js", "chat-widget.all.js", "chat-widget.json"}
        cache = "max-age=3600" if name in plain else "max-age=31536000, immutable"
        assert response.headers["Cache-Control"] == f"public, {cache}", name
        kind = "text/javascript" if name.endswith(".js") else "application/json"
        assert response.headers["Content-Type"].startswith(kind), name


@pytest.mark.parametrize("part", ["-open.0123456789ab.js", "-answer.01-34_6789ab.js", "-de.0.json"])
async def test_c16_a_part_of_another_build_is_a_404_that_nobody_keeps(
    shared: Stage, part: str
) -> None:
    """aws M4: after a deployment, and in the middle of one. The widget sees the status on any
    page, and may ask again.
    """
    response = await get(shared.url, f"/chat-widget{part}", Origin="https://any.example")
    assert response.status_code == 404
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("accepted", ["", "identity", "br;q=0, gzip;q=0.0", "zstd", "bra"])
async def test_c16_clients_without_compression_get_the_plain_widget(
    shared: Stage, accepted: str
) -> None:
    response = await get(shared.url, "/chat-widget.js", Accept_Encoding=accepted)
    if response.status_code == 404:
        pytest.skip("the widget is not built: make setup")
    assert "Content-Encoding" not in response.headers
    assert "accept-encoding" in response.headers["Vary"].lower()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/health"), ("GET", "/nothing"), ("POST", "/health"), ("GET", "/api/chat")],
)
async def test_t30_every_answer_forbids_sniffing_and_caching(
    shared: Stage, method: str, path: str
) -> None:
    response = await get(shared.url, path, method=method, Origin=ORIGIN)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Request-Id"]
    assert "Server" not in response.headers or "uvicorn" not in response.headers["Server"]


async def test_t30_answers_errors_and_preflights_forbid_sniffing_and_caching(
    shared: Stage, question: str
) -> None:
    good = await shared.ask(question)
    bad = await shared.ask(b"{}")
    stranger = await ask(shared.url, question, headers={"Origin": "https://evil.example"})
    preflight = await get(
        shared.url,
        "/api/chat",
        method="OPTIONS",
        Origin=ORIGIN,
        Access_Control_Request_Method="POST",
    )
    assert [good.status, bad.status, stranger.status] == [200, 400, 403]
    for headers in (good.headers, bad.headers, stranger.headers, preflight.headers):
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


async def test_t30_errors_of_the_upstream_forbid_sniffing_and_caching(staged: Staged) -> None:
    running = staged(1, url="http://127.0.0.1:9/v1")
    answer = await running.ask()
    assert answer.status == 503
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
