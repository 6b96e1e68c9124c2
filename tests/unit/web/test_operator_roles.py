"""H24: every path of the panel's API wants a sign-in; one that may only read changes nothing."""

from __future__ import annotations

import re

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from kefu.auth.admin_tokens import AdminTokens, Holder, nonce_for
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.service import build
from kefu.settings import Settings
from tests.contract.chats import ONE

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
OPEN = {"/admin/api/enter"}
"""What a ticket or the token opens, and no pass."""


@pytest.fixture
def app() -> FastAPI:
    given = {
        "ADMIN_TOKEN": TOKEN,
        "KEFU_CONTACT_FORM": "email",
        "KEFU_STORE": "memory:",
        "KEFU_SESSIONS": "true",
        "KEFU_API_KEYS": "key-5f3c9a7e",
        "KEFU_UPSTREAM_URL": "http://127.0.0.1:1/v1",
        "KEFU_MODEL": "m",
    }
    app = build(Settings.model_validate(given)).app
    assert isinstance(app, FastAPI)
    return app


def paths(app: FastAPI) -> list[tuple[str, str]]:
    """The methods and paths of the panel's API, with an id in place of each parameter."""
    return [
        (method, re.sub(r"\{\w+\}", ONE, one.path))
        for included in app.routes
        for one in getattr(included, "original_router", app).routes
        if isinstance(one, APIRoute) and one.path.startswith("/admin/api/")
        for method in one.methods or ()
        if one.path not in OPEN
    ]


async def test_h24_each_path_wants_a_sign_in_and_readers_change_nothing(app: FastAPI) -> None:
    found = paths(app)
    assert {method for method, _ in found} == {"GET", "POST", "PUT", "DELETE"}
    assert len(found) >= 20
    tokens, now = AdminTokens(TOKEN), SystemClock().now()
    reader = tokens.issue(nonce_for("a1", Holder(operator="Ingrid", may="read")), now)
    writer = tokens.issue(nonce_for("a2", Holder(operator="Bob")), now)
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://kefu") as browser:
        for method, path in found:
            said = {}
            for name, bearer in (("reader", reader), ("writer", writer)):
                headers = {"Authorization": f"Bearer {bearer}"}
                answer = await browser.request(method, path, headers=headers)
                said[name] = answer.status_code, "read_only" in answer.text
            assert said["reader"] == ((403, True) if method != "GET" else said["writer"]), path
            assert said["writer"][0] not in (401, 403), path
    async with httpx.AsyncClient(transport=transport, base_url="http://kefu") as stranger:
        for number, (method, path) in enumerate(found):
            # Each from an address of its own: ten wrong tokens close the panel for an address.
            nobody = httpx.ASGITransport(app, client=(f"10.0.{number}.1", 1))
            stranger._transport = nobody
            assert (await stranger.request(method, path)).status_code == 401, path
