"""C4: every route answers every bad request with the status, text and headers it always had.

`tests/golden/route_errors.json` was recorded before the routes declared their bodies.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.asking import ask
from tests.fakes.behaviours import answer
from tests.fakes.raw_client import RawClient, RawResponse, request
from tests.fakes.stage import FAST, Stage, stage
from tests.web.test_identity import NEW, token

GOLDEN = Path(__file__).parents[1] / "golden" / "route_errors.json"
TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
CLIENT_KEY = "client-key-5f3c9a7e1b-6d20c81f-77"
ID = "message-1"
WRONG = dict.fromkeys(("X-Session-Token", "X-User-Token", "Authorization"), "wrong")

GOOD: dict[str, dict[str, Any]] = {
    "/api/chat/cancel": {"client_message_id": ID},
    "/api/chat/feedback": {"client_message_id": ID, "rating": "up"},
    "/api/contact": {"client_message_id": ID, "email": "k@x.no", "message": "Hi"},
    "/api/sessions/S/contact": {"client_message_id": ID, "email": "k@x.no", "message": "Hi"},
    "/api/sessions/S/answer": {"client_message_id": ID},
    "/api/sessions/S/feedback": {"client_message_id": ID, "rating": "down"},
    "/admin/api/contacts/C/done": {"done": True},
    "/admin/api/sessions/S/state": {"state": "person", "operator": "Kari"},
    "/admin/api/sessions/S/lines": {"client_message_id": ID, "operator": "Kari", "text": "Hi"},
    "/api/chat": {"messages": [{"role": "user", "content": "Hello?"}]},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hello?"}]},
}
"""A valid body for every path that reads one."""

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "not JSON": b"{",
    "not UTF-8": '{"rating": "é"}'.encode("latin-1"),
    "null": b"null",
    "a list": b"[1]",
    "a text": b'"text"',
    "deep": b'{"a":' * 40 + b"1" + b"}" * 40,
    "very deep": b"[" * 30_000,
    "a key twice": b'{"done": true, "done": false}',
    "NaN": b'{"done": NaN}',
    "a lone surrogate": b'{"text": "\\ud800"}',
    "long": b'{"a": "' + b"x" * 40_000 + b'"}',
    "an empty object": b"{}",
    "wrong types": b'{"client_message_id": 1, "rating": "so", "done": 1, "state": 0, "email": []}',
    "a long text": json.dumps(
        {"client_message_id": ID, "operator": "Kari", "text": "x" * 4001, "done": True}
    ).encode(),
    "wrong values": json.dumps(
        {
            "client_message_id": "x",
            "rating": "up",
            "comment": "only for down",
            "name": "two\nlines",
            "operator": " ",
            "state": "away",
            "session_id": "x" * 65,
        }
    ).encode(),
}

USER = {"role": "user", "content": "Hello?"}
ANSWER = {"role": "assistant", "content": "Yes."}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
KEPT = {"message": "Hello?"}


def asked(name: str, *values: Any, **body: Any) -> list[dict[str, Any]]:
    """The body, or else a conversation, with each of these values of a field."""
    return [{**(body or {"messages": [USER]}), name: value} for value in values]


QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "/api/chat": [
        *({"messages": []}, {"messages": [USER] * 201}, {"messages": [USER, ANSWER]}),
        *({"messages": [USER, {"role": "system", "content": "x"}]}, {"messages": "Hello?"}),
        *({"messages": [{"role": "tool", "content": "x"}]}, {"messages": [{"role": "user"}]}),
        *asked("messages", *([{"role": "user", "content": " " * n}] for n in (1, 16001))),
        *asked("messages", *([{"role": "user", "content": given}] for given in ([1], []))),
        {"messages": [{"role": "user", "content": [{"type": "image_url", "text": "x"}]}]},
        *asked("store", 1, "true"),
        *(
            {"messages": [USER, ANSWER, USER], "store": True},
            {"messages": [USER], "config_id": "x"},
        ),
        *asked("temperature", 3, -1, "0.5", True),
        *asked("max_tokens", 0, 1.5, "10"),
        *asked("sources", "true", 1),
        *asked("client_message_id", "short", "a b c d e"),
        {"messages": [USER], "verification_token": "x" * 8193},
        {"messages": [USER], "context": {"title": "x" * 501}},
        {"messages": [USER], "context": {str(n): "x" * 490 for n in range(5)}},
        {"messages": [USER], "context": {str(n): "x" for n in range(17)}},
        *({**KEPT, "messages": [USER]}, {**KEPT, "again": ID}, {**KEPT, "config_id": "none"}),
        *({"message": text} for text in ("", " \n", "x" * 16001, 1, None)),
        *asked("session_id", "unknown", "x" * 65, 1, **KEPT),
        *asked("profile", {"a": 1}, {"a": "x" * 1001}, [], **KEPT),
    ],
    "/v1/chat/completions": [
        *({"messages": [USER], name: 1} for name in ("functions", "logprobs", "audio", "stream")),
        *({"messages": [USER], name: {}} for name in ("function_call", "response_format")),
        *({"messages": [USER], name: ["x"]} for name in ("modalities", "tools", "tool_choice")),
        *({"messages": [{**ANSWER, "tool_calls": [CALL]}, USER]}, {"messages": [USER, ANSWER]}),
        *(
            {"messages": [{"role": role, "content": "x"}]}
            for role in ("tool", "system", "function")
        ),
        *({"messages": [{"role": "user", "content": text}]} for text in (None, " ", "x" * 16001)),
        {"messages": [USER] * 201},
    ],
}
"""What only the check of a question refuses."""

QUERIES = {
    "/api/sessions": ("limit=0", "limit=x", "limit=101", "limit=", "cursor=x", "limit=0&cursor=x"),
    "/api/sessions/S/messages": ("limit=0", "before=-1", "sources=1", "limit=0&before=0", "limit="),
    "/api/sessions/S/person": ("after=0", "after=x", "after=9007199254740993", "after=%D9%A3"),
    "/api/sessions/S/export": ("format=xml", "format="),
    "/admin/api/days": ("since=2026", "until=2026-02-30"),
    "/admin/api/insights": ("since=x", "until=2026-1-1"),
    "/admin/api/sessions": (
        *("status=x", "rating=x", "state=x", "has_error=1", "limit=x", "cursor=x", "since=-1"),
        *("unanswered=1", "until=x", "status=&rating=&state="),
    ),
    "/admin/api/sessions/S": ("before=x",),
    "/admin/api/sessions/S/export": ("format=xml",),
    "/admin/api/sessions/S/talk": ("after=0", "after=x"),
    "/admin/api/contacts": ("cursor=x",),
}
OTHERS = (
    *("GET /api/contact", "GET /api/sessions/S/contact", "DELETE /api/sessions/S"),
    *("GET /api/sessions", "GET /api/sessions/S/messages", "GET /api/sessions/S/person"),
    *("GET /api/sessions/S/export", "POST /admin/api/contacts/C/done"),
    *("GET /v1/models", "GET /health", "GET /ready", "GET /admin/api/about"),
    *("GET /admin/api/keys", "POST /admin/api/enter", "POST /admin/api/verification-pass"),
    *("DELETE /admin/api/sessions/S", "DELETE /admin/api/contacts/C", "PUT /api/chat/cancel"),
    *("GET /api/chat/feedback", "PATCH /admin/api/sessions/S", "GET /api/nothing"),
    *("GET /api/chat", "GET /v1/chat/completions", "GET /api/sessions/S/answer", "GET /v1/nothing"),
    *("POST /v1/models", "POST /api/sessions", "PUT /api/contact", "POST /health", "GET /admin/x"),
)


def told(response: RawResponse) -> str:
    """What a client learns, in one line: status, code, param, type, text and headers."""
    names = ("content-type", "retry-after", "www-authenticate", "connection", "allow")
    headers = {n: response.headers[n] for n in names if n in response.headers}
    if response.status < 400:
        return f"{response.status} {headers}"
    error = response.json["error"]
    said = f"{error['code']} {error['type']} {error['param']}: {error['message']}"
    return f"{response.status} {said} {headers}"


class Asker:
    """Sends a request, with valid tokens or without."""

    def __init__(self, running: Stage, session: str, session_token: str) -> None:
        self._running = running
        self._session = session
        self._sources = (f"127.9.{n // 250}.{n % 250 + 1}" for n in count())
        self._headers = {"X-Session-Token": session_token, "X-User-Token": token(secret=NEW)}

    async def told(
        self,
        line: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        signed: bool = True,
        length: int | None = None,
    ) -> str:
        method, path = line.split()
        tokens = dict(self._headers) if signed else {}
        if signed and path.startswith(("/admin", "/v1")):
            tokens["Authorization"] = f"Bearer {TOKEN if 'admin' in path else CLIENT_KEY}"
        path = path.replace("/S", f"/{self._session}")
        sent = request(
            path, body, method=method, headers={**tokens, **(headers or {})}, length=length
        )
        # An address may make a few mistakes only, before it has to wait.
        async with await RawClient.connect(self._running.url, source=next(self._sources)) as client:
            await client.send(sent)
            return told(await client.response(timeout=10))


async def recorded() -> dict[str, dict[str, str]]:
    """Every answer by its route and its case."""
    environment = {"ADMIN_TOKEN": TOKEN, "KEFU_CONTACT_FORM": "email,message"}
    settings: dict[str, Any] = {
        "sessions": "true",
        "identity_secrets": NEW,
        "openai_keys": CLIENT_KEY,
    }
    with stage(1, **FAST, environment=environment, **settings) as running:
        running.script(answer("Yes."))
        question = {"message": "Hello?", "client_message_id": ID}
        user = {"X-User-Token": token(secret=NEW)}
        begun = (await ask(running.url, question, headers=user)).headers
        asker = Asker(running, begun["X-Session-Id"], begun["X-Session-Token"])
        found = {path: await _bodies(asker, path) for path in GOOD}
        for path, bodies in QUESTIONS.items():
            for at, body in enumerate(bodies):
                told = await asker.told(f"POST {path}", json.dumps(body).encode())
                found[path][f"question {at}"] = told
        for path, queries in QUERIES.items():
            found[path] = found.get(path, {}) | {
                query: await asker.told(f"GET {path}?{query}") for query in queries
            }
            found[path]["no token"] = await asker.told(f"GET {path}?{queries[0]}", signed=False)
        for line in OTHERS:
            found[line] = {
                "no token": await asker.told(line, signed=False),
                "wrong token": await asker.told(line, headers=WRONG),
            }
        return found


async def _bodies(asker: Asker, path: str) -> dict[str, str]:
    line, good = f"POST {path}", json.dumps(GOOD[path]).encode()
    plain = {"Content-Type": "text/plain"}
    told = {name: await asker.told(line, body) for name, body in BODIES.items()}
    told["good body"] = await asker.told(line, good)
    told["wrong content type"] = await asker.told(line, good, headers=plain)
    told["other JSON type"] = await asker.told(
        line, good, headers={"Content-Type": "application/problem+json"}
    )
    told["unknown field"] = await asker.told(line, json.dumps({**GOOD[path], "x": 1}).encode())
    told["wrong token"] = await asker.told(line, good, headers=WRONG)
    told["no token"] = await asker.told(line, good, signed=False)
    told["no token, bad body"] = await asker.told(line, b"{}", signed=False)
    told["no token, wrong content type"] = await asker.told(line, good, headers=plain, signed=False)
    told["slow"], told["no token, slow"], told["declared too long"] = await asyncio.gather(
        asker.told(line, good[:3], length=len(good)),
        asker.told(line, good[:3], length=len(good), signed=False),
        asker.told(line, b"{", length=50_000),
    )
    return told


@pytest.mark.slow
async def test_c4_bad_requests_of_every_route_are_answered_as_before() -> None:
    expected = json.loads(GOLDEN.read_text())
    found = await recorded()
    assert list(found) == list(expected)
    for route, answers in found.items():
        assert answers == expected[route], route


@pytest.fixture(scope="module")
def description() -> Iterator[dict[str, Any]]:
    environment = {"KEFU_CONTACT_FORM": "email,message"}
    with stage(1, sessions="true", environment=environment) as running:
        yield httpx.get(f"{running.url}/openapi.json").json()


def test_c8_every_body_and_schema_is_described_and_no_other(description: dict[str, Any]) -> None:
    for path in (path.replace("/S/", "/{session_id}/") for path in GOOD):
        described = description["paths"].get(path, {}).get("post", {})
        assert ("requestBody" in described) != path.startswith("/admin/"), path
    names = set(re.findall("#/components/schemas/([A-Za-z]+)", json.dumps(description)))
    assert names == set(description["components"]["schemas"])


def test_c8_every_json_response_is_described_by_a_schema(description: dict[str, Any]) -> None:
    operations = [one for path in description["paths"].values() for one in path.values()]
    for operation in operations:
        content = operation["responses"].get("200", {}).get("content", {})
        if list(content) == ["application/json"]:
            assert "$ref" in content["application/json"]["schema"], operation


def test_c8_every_recorded_status_is_described(description: dict[str, Any]) -> None:
    """The lists of errors were written by hand beside each route, and one had none."""
    described = description["paths"]
    for route, answers in json.loads(GOLDEN.read_text()).items():
        path = re.sub("/S(?=/|$)", "/{session_id}", route.rpartition(" ")[2])
        method = route.split()[0].lower() if " " in route else "post" if route in GOOD else "get"
        if method in described.get(path, {}):
            statuses = {answer[:3] for answer in answers.values()}
            assert statuses <= set(described[path][method]["responses"]), route
