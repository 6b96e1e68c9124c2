"""H24: operators sign in at an OpenID provider of the owner."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from kefu.settings import ConfigurationError, load
from tests.fakes.fixtures import Staged
from tests.fakes.oidc_provider import LIES, SECRET, UNSIGNED, OidcProvider
from tests.fakes.stage import Stage
from tests.web.test_admin import entered
from tests.web.test_contact import TOKEN, as_operator, settings
from tests.web.test_sign_ins import listed, status

PLACE = "https://chat.example.com"
CALLBACK = f"{PLACE}/admin/api/oidc/callback"
INGRID: dict[str, object] = {
    "email": "Ingrid@shop.example",
    "email_verified": True,
    "name": "Ingrid  Ø",
}


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as running:
        yield running


@pytest.fixture
def honest(provider: OidcProvider) -> OidcProvider:
    provider.lies("")
    provider.knows("ingrid", INGRID)
    return provider


def served(staged: Staged, provider: OidcProvider, **more: str) -> Stage:
    given = settings()
    given["environment"] |= {
        "KEFU_ADMIN_OIDC": provider.issuer,
        "KEFU_ADMIN_OIDC_CLIENT": "kefu",
        "KEFU_ADMIN_OIDC_SECRET": SECRET,
        "KEFU_ADMIN_OIDC_WRITE": "ingrid@shop.example,support",
        "KEFU_ADMIN_OIDC_READ": "bob@shop.example,guests",
        "KEFU_ADMIN_URL": f"{PLACE}/",
        **more,
    }
    return staged(1, **given)


class Browser:
    """Signs in, and keeps the cookie."""

    def __init__(self, running: Stage) -> None:
        self._url = running.url
        self.state = ""

    def begins(self) -> str:
        """The address of the provider."""
        answer = httpx.get(f"{self._url}/admin/api/oidc", timeout=30)
        assert answer.status_code == 303, answer.text
        [cookie] = answer.headers.get_list("set-cookie")
        for part in ("HttpOnly", "Secure", "SameSite=lax", "Path=/admin/api/oidc"):
            assert part in cookie
        self.state = cookie.partition("=")[2].partition(";")[0]
        return answer.headers["Location"]

    def returns(self, address: str, state: str = "") -> httpx.Response:
        """Open the address to which the provider has sent the browser."""
        assert address.startswith(f"{CALLBACK}?")
        headers = {"Cookie": f"kefu-sign-in={state or self.state}"}
        return httpx.get(address.replace(PLACE, self._url, 1), headers=headers, timeout=30)

    def tries(self, provider: OidcProvider, name: str = "ingrid") -> httpx.Response:
        return self.returns(provider.signs_in(self.begins(), name))

    def enters(self, running: Stage, provider: OidcProvider, name: str = "ingrid") -> str:
        """The pass of a user."""
        answer = self.tries(provider, name)
        assert answer.status_code == 303, answer.text
        place, _, ticket = answer.headers["Location"].partition("#ticket=")
        assert (place, answer.headers["Cache-Control"]) == (f"{PLACE}/admin", "no-store")
        given: str = entered(running, ticket).raise_for_status().json()["pass"]
        assert entered(running, ticket).status_code == 401  # a ticket is good once
        return given


def refused_with(answer: httpx.Response) -> str:
    """The code with which the browser comes back to the panel's sign-in."""
    assert answer.status_code == 303, answer.text
    place, _, code = answer.headers["Location"].partition("#refused=")
    assert (place, answer.headers["Cache-Control"]) == (f"{PLACE}/admin", "no-store")
    return str(code)


def test_h24_an_operator_signs_in_at_the_provider_with_pkce_state_and_nonce(
    staged: Staged, honest: OidcProvider
) -> None:
    running, before = served(staged, honest), len(honest.seen())
    given = Browser(running).enters(running, honest)
    assert status(running, given) == 200
    [one] = listed(running)
    assert (one["operator"], one["may"]) == ("Ingrid Ø", "")
    assert httpx.get(f"{running.url}/admin/api/enter").json() == {"oidc": True}

    begun, token = honest.seen()[before:]
    assert (begun["client_id"], begun["redirect_uri"]) == ("kefu", CALLBACK)
    assert token["redirect_uri"] == CALLBACK
    assert token["secret"] == SECRET
    digest = hashlib.sha256(token["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == begun["code_challenge"]
    assert len({begun["state"], begun["nonce"], token["code_verifier"]}) == 3
    said = running.service.stderr
    assert SECRET not in said
    assert token["code"] not in said


@pytest.mark.parametrize("about", [*LIES, *UNSIGNED, "discovery"])
def test_h24_a_token_that_is_not_the_providers_for_this_sign_in_is_refused(
    staged: Staged, honest: OidcProvider, about: str
) -> None:
    running = served(staged, honest)
    browser = Browser(running)
    address = honest.signs_in(browser.begins(), "ingrid")
    honest.lies(about)
    refused = browser.returns(address)
    code = "upstream_service_unavailable" if about == "discovery" else "unauthorized"
    assert refused_with(refused) == code
    assert any("A sign-in was refused: " in one["message"] for one in running.service.logs())
    assert listed(running) == []


def test_h24_a_state_or_a_code_of_another_browser_is_refused(
    staged: Staged, honest: OidcProvider
) -> None:
    running = served(staged, honest)
    mine, strangers = Browser(running), Browser(running)
    address = honest.signs_in(strangers.begins(), "ingrid")
    mine.begins()
    # The link of a stranger, with which the victim would sign in as the stranger.
    assert refused_with(mine.returns(address)) == "unauthorized"
    assert refused_with(mine.returns(address, state="x")) == "unauthorized"
    code = dict(parse_qsl(urlsplit(address).query))["code"]
    # A code that was injected into one's own sign-in: its token has another nonce.
    injected = mine.returns(f"{CALLBACK}?code={code}&state={mine.state}")
    assert refused_with(injected) == "unauthorized"
    assert refused_with(strangers.returns(address)) == "unauthorized"  # the code is used up
    invented = f"state.{10**11}.abc.{'x' * 43}"
    forged = mine.returns(f"{CALLBACK}?code=1&state={invented}", invented)
    assert refused_with(forged) == "unauthorized"
    denied = mine.returns(f"{CALLBACK}?error=access_denied&state={mine.state}")
    assert refused_with(denied) == "not_an_operator"
    assert "access_denied" not in denied.headers["Location"]
    assert listed(running) == []


@pytest.mark.parametrize(
    ("claims", "may"),
    [
        ({"email": "bob@shop.example", "email_verified": True}, "read"),
        ({"roles": ["x", "Support"]}, ""),
        ({"groups": "guests"}, "read"),
        ({"cognito:groups": ["guests", "support"]}, ""),
        ({"email": "ingrid@shop.example"}, None),
        ({"email": "ingrid@shop.example", "email_verified": False}, None),
        ({"email": "ingrid@shop.example", "email_verified": "true"}, None),
        ({"email": "eve@shop.example", "email_verified": True}, None),
        ({"roles": ["ingrid@shop.example"]}, None),
        ({"roles": {"support": True}, "groups": 7}, None),
        ({"name": "support", "preferred_username": "ingrid@shop.example"}, None),
    ],
)
def test_h24_roles_and_verified_addresses_decide_who_reads_and_who_writes(
    staged: Staged, honest: OidcProvider, claims: dict[str, Any], may: str | None
) -> None:
    running = served(staged, honest)
    honest.knows("somebody", claims)
    if may is None:
        refused = Browser(running).tries(honest, "somebody")
        assert refused_with(refused) == "not_an_operator"
        return
    given = Browser(running).enters(running, honest, "somebody")
    written = as_operator(running, "contacts/none/done", "POST", {"done": True}, token=given)
    assert written.status_code == (403 if may else 404)
    assert [one["may"] for one in listed(running)] == [may]


def test_h24_a_provider_that_is_away_is_named(staged: Staged) -> None:
    gone = OidcProvider()
    running = served(staged, gone)
    gone.stop()
    answer = httpx.get(f"{running.url}/admin/api/oidc", timeout=30)
    assert refused_with(answer) == "upstream_service_unavailable"
    assert "does not answer" in running.service.stderr


def test_h24_without_a_provider_there_is_no_such_way(staged: Staged) -> None:
    running = staged(1, **settings())
    assert httpx.get(f"{running.url}/admin/api/enter").json() == {"oidc": False}
    for path in ("", "/callback"):
        assert httpx.get(f"{running.url}/admin/api/oidc{path}").status_code == 404


WHOLE = {
    "ADMIN_TOKEN": TOKEN,
    "KEFU_ADMIN_OIDC": "https://accounts.example",
    "KEFU_ADMIN_OIDC_CLIENT": "kefu",
    "KEFU_ADMIN_OIDC_SECRET": SECRET,
    "KEFU_ADMIN_OIDC_WRITE": "a@b.example",
    "KEFU_ADMIN_URL": PLACE,
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"KEFU_ADMIN_OIDC": "http://accounts.example"}, "must begin with https:"),
        ({"KEFU_ADMIN_URL": "http://chat.example.com"}, "must begin with https:"),
        ({"KEFU_ADMIN_OIDC_CLIENT": ""}, "oidc needs oidc_client"),
        ({"KEFU_ADMIN_OIDC_SECRET": ""}, "oidc needs KEFU_ADMIN_OIDC_SECRET"),
        ({"KEFU_ADMIN_URL": ""}, "oidc needs url"),
        ({"ADMIN_TOKEN": ""}, "oidc needs token"),
        ({"KEFU_ADMIN_OIDC_WRITE": ""}, "lets nobody in"),
    ],
)
def test_h24_a_sign_in_that_cannot_work_stops_the_start(changed: dict[str, str], said: str) -> None:
    assert load(WHOLE).admin_oidc == "https://accounts.example"
    with pytest.raises(ConfigurationError, match=said):
        load({**WHOLE, **changed})


def test_h24_a_server_without_the_library_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from kefu.bootstrap.service import build\n"
        "from kefu.settings import load\n"
        f"build(load({WHOLE | {'KEFU_API_KEYS': 'k', 'KEFU_STORE': 'memory:'}!r}))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "[admin] oidc (KEFU_ADMIN_OIDC) needs `kefu[oidc]`" in ran.stderr
