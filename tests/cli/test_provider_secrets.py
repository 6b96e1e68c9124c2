"""D8: headers and values of the query may be secrets, which go to their upstream alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Kefu
from tests.fakes import behaviours as b
from tests.fakes.asking import ask
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

HEADER, QUERY = "Token header-canary-5f3c9a7e", "query/canary+71d04b2e"
SENT_QUERY = "query/canary%2B71d04b2e"
"""As the HTTP client encodes it."""
NEVER = ("header-canary", "canary+71d04b2e", "canary%2B71d04b2e")
OPERATOR = "operator-token-5f3c9a7e1b-6d20c81f"
ECHO = {"error": {"message": f"wrong {HEADER} and {QUERY} in ?code={SENT_QUERY}"}}
SECRETS = {"MY_HEADER": HEADER, "MY_QUERY": QUERY}
FILE = """\
[model]
url = "{first}?api-version=2024-10-21&code=env:MY_QUERY"
[model.parameters]
top_k = 7
max_completion_tokens = 60
[model.headers]
api-key = "env:MY_HEADER"
[model.fallback]
url = "{second}"
[model.fallback.parameters]
seed = 3
[sessions]
enabled = true
capture = "all"
"""


@pytest.fixture
def second() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as running:
        yield running


@pytest.fixture
def service(
    upstream: ScriptedUpstream, second: ScriptedUpstream, folder: Path
) -> Iterator[Service]:
    file = folder / "kefu.toml"
    file.write_text(FILE.format(first=upstream.base_url, second=second.base_url))
    environment = {**SECRETS, "ADMIN_TOKEN": OPERATOR, "KEFU_CONFIG": str(file)}
    with Service(None, keys=(), environment=environment, log_level="DEBUG") as running:
        yield running


def nothing_of_them(text: str) -> bool:
    return not [part for part in NEVER if part in text]


def shown_by(url: str) -> list[str]:
    """What the panel and the open paths of a service show."""
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    with httpx.Client(base_url=f"{url}/admin/api", headers=headers) as panel:
        paths = ["/about", "/keys", "/days", "/insights", "/sessions"]
        for row in panel.get("/sessions").json()["rows"]:
            paths += [f"/sessions/{row['id']}", f"/sessions/{row['id']}/export?format=json"]
        answers = [panel.get(path) for path in paths]
        assert {answer.status_code for answer in answers} == {200}
        answers += [httpx.get(url + path) for path in ("/health", "/ready")]
    return [answer.text for answer in answers]


async def test_secrets_of_headers_and_query_leave_to_their_upstream_alone(
    service: Service, upstream: ScriptedUpstream, second: ScriptedUpstream, tmp_path: Path
) -> None:
    """In an answer, a refusal of the request, an answer of the fallback, and a redirect."""
    with ScriptedUpstream() as elsewhere:
        away = b.redirect(elsewhere.base_url + "/chat/completions?code=1")
        upstream.script(
            "*", b.answer("Hi"), b.status(400, ECHO), b.status(401, ECHO), away, b.answer("Hi")
        )
        second.script("*", b.answer("from the second"))
        seen = []
        for number in range(4):
            answer = await ask(service.url, {"message": f"question {number}"})
            seen.append(answer.raw.decode() + repr(answer.headers))
            if number == 2:  # the key, which is none, is refused for an hour
                break
        assert elsewhere.connections == 0
    first = upstream.journal[0]
    assert first.path == f"/v1/chat/completions?api-version=2024-10-21&code={SENT_QUERY}"
    assert first.headers["api-key"] == HEADER
    assert "authorization" not in first.headers
    assert (first.body["top_k"], first.body["max_completion_tokens"]) == (7, 60)
    assert "max_tokens" not in first.body
    [other] = second.journal
    assert other.path == "/v1/chat/completions"
    assert nothing_of_them(repr(other))
    assert "api-key" not in other.headers
    assert "authorization" not in other.headers
    assert (other.body["seed"], other.body["max_tokens"]) == (3, 60)
    assert not {"top_k", "max_completion_tokens"} & other.body.keys()

    seen += await asyncio.to_thread(shown_by, service.url)
    assert any("wrong [key]" in text for text in seen), "the record has the upstream's words"
    assert service.stop() == 0
    seen += [service.stderr, service.stdout]
    seen += [file.read_bytes().decode("latin-1") for file in service.folder.rglob("*.db*")]
    assert '"refused by the upstream"' in service.stderr
    assert [text for text in seen if not nothing_of_them(text)] == []


@pytest.mark.parametrize("code", [301, 307])
async def test_redirect_of_the_upstream_gets_no_header_and_no_query(
    service: Service, upstream: ScriptedUpstream, second: ScriptedUpstream, code: int
) -> None:
    with ScriptedUpstream() as elsewhere:
        upstream.script("*", b.redirect(elsewhere.base_url + "/chat/completions", code))
        second.script("*", b.redirect(elsewhere.base_url + "/chat/completions", code))
        answer = await ask(service.url, {"message": "Hello?"})
        assert answer.status == 503
        assert elsewhere.connections == 0
    assert nothing_of_them(service.stderr)


def test_doctor_and_replay_show_none_of_them(
    kefu: Kefu,
    service: Service,
    upstream: ScriptedUpstream,
    second: ScriptedUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both send them to the model, whose refusal quotes them."""
    for name, value in {**SECRETS, "ADMIN_TOKEN": OPERATOR}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("KEFU_UPSTREAM_URL")
    monkeypatch.delenv("LONGCAT_API_KEYS")
    upstream.script("*", b.answer("Hi"), b.status(400, ECHO))
    second.script("*", b.status(401, ECHO))
    httpx.post(f"{service.url}/api/chat", json={"message": "Hello?"})
    doctor = kefu("doctor")
    out = " ".join(doctor.out.split())
    assert "answers 400, “wrong [key] and [key] in ?code=[key]”" in out
    assert "refuses a request without an API key: 401" in out
    [session] = httpx.get(
        f"{service.url}/admin/api/sessions", headers={"Authorization": f"Bearer {OPERATOR}"}
    ).json()["rows"]
    replay = kefu("replay", session["id"], "--server", service.url, "--json")
    assert len(upstream.journal) == 3
    for call in upstream.journal:
        assert call.headers["api-key"] == HEADER
        assert "canary%2B71d04b2e" in call.path
    for ran in (doctor, replay):
        assert nothing_of_them(ran.out + ran.err)
