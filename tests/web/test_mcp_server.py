"""A23: assistants search and read the learnt pages at `POST /mcp`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from kefu.knowledge.finding import MAX_PASSAGES
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText, page_id
from kefu.stores.sqlite.knowledge.write import Run, write
from kefu.tools.mcp_wire import NEWEST
from kefu.web.page_tools import MAX_PART
from kefu.web.routes.mcp import MAX_BODY, PER_ADDRESS
from tests.fakes import behaviours as b
from tests.fakes.stage import FAST, ORIGIN, Stage, stage

SHOP = "https://shop.example/help"
LOCAL = "notes/handbook.txt"
KEY = "an-assistants-key-of-32-characters"


def page(url: str, title: str, *texts: str) -> Learnt:
    blocks = [Block(title, 1, "top"), *(Block(one) for one in texts)]
    return Learnt(PageText(url, title, blocks, "en"), {})


PAGES = [
    page(f"{SHOP}/delivery", "Delivery", "Parcels to Norway take three to five working days."),
    page(f"{SHOP}/customs", "Customs", "Customs for Norway are paid at checkout."),
    page(LOCAL, "Handbook", "Boots are waxed twice."),
    page(f"{SHOP}/long", "Long", *(f"Rule {n}: boots of kind {n} are dry." for n in range(1000))),
]


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pages") / "shop.kefu"
    write(file, Run(PAGES, [], 1_800_000_000.0))
    return file


@pytest.fixture(scope="module")
def serving(knowledge: Path) -> Iterator[Stage]:
    with stage(1, **FAST, knowledge=str(knowledge), mcp="true") as running:
        yield running


def newest(method: str, **params: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}}


def headers_of(message: Mapping[str, Any]) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": message["method"]}
    if message["method"] == "tools/call":
        headers["Mcp-Name"] = message["params"]["name"]
    return headers


async def post(
    running: Stage, body: object, headers: Mapping[str, str] | None = None, method: str = "POST"
) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {"Content-Type": "application/json", **(headers or {})}
        return await client.request(method, f"{running.url}/mcp", content=text, headers=own)


async def ask(running: Stage, method: str, **params: Any) -> Any:
    message = newest(method, **params)
    response = await post(running, message, headers_of(message))
    assert response.status_code == 200, response.text
    assert response.json()["id"] == 7
    return response.json()["result"]


async def call(running: Stage, name: str, **arguments: Any) -> Any:
    return await ask(running, "tools/call", name=name, arguments=arguments)


async def test_a23_it_is_off_by_default(knowledge: Path) -> None:
    with stage(1, **FAST, knowledge=str(knowledge)) as running:
        message = newest("tools/list")
        assert (await post(running, message, headers_of(message))).status_code == 404


async def test_a23_without_pages_it_is_not_served_and_the_log_says_why() -> None:
    with stage(1, **FAST, mcp="true") as running:
        assert (await post(running, newest("tools/list"))).status_code == 404
        assert "/mcp is not served: there are no learnt pages" in running.service.stderr


async def test_a23_a_request_of_the_newest_revision_needs_no_session(serving: Stage) -> None:
    listed = await ask(serving, "tools/list")
    assert [one["name"] for one in listed["tools"]] == ["search_pages", "read_page"]
    assert all(one["annotations"]["readOnlyHint"] for one in listed["tools"])
    assert listed["resultType"] == "complete"
    found = await ask(serving, "server/discover")
    assert NEWEST in found["supportedVersions"]
    assert found["capabilities"] == {"tools": {}}


async def test_a23_an_older_client_is_answered_without_a_session(serving: Stage) -> None:
    wanted = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    begun = await post(
        serving, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": wanted}
    )
    assert begun.json()["result"]["protocolVersion"] == "2025-06-18"
    assert "mcp-session-id" not in begun.headers
    told = await post(serving, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (told.status_code, told.content) == (202, b"")
    params = {"name": "search_pages", "arguments": {"query": "Norway"}}
    message = {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}
    called = await post(serving, message, {"MCP-Protocol-Version": "2025-06-18"})
    assert called.json()["id"] == "a"
    assert len(called.json()["result"]["structuredContent"]["passages"]) == 2


async def test_a23_a_search_finds_the_passages_of_the_chat(serving: Stage) -> None:
    result = await call(serving, "search_pages", query="How long do parcels to Norway take?")
    first = result["structuredContent"]["passages"][0]
    assert first["text"] == "Parcels to Norway take three to five working days."
    assert first["title"] == "Delivery"
    assert first["page"] == f"{SHOP}/delivery"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    many = await call(serving, "search_pages", query="dry boots of any kind")
    assert 1 <= len(many["structuredContent"]["passages"]) <= MAX_PASSAGES
    none = await call(serving, "search_pages", query="xylophone")
    assert none["structuredContent"] == {"passages": []}


async def test_a23_a_page_is_read_by_its_address_and_in_parts(serving: Stage) -> None:
    read = (await call(serving, "read_page", page=f"{SHOP}/customs#top"))["structuredContent"]
    assert read["text"] == "Customs for Norway are paid at checkout."
    assert (read["url"], read["part"], read["parts"]) == (f"{SHOP}/customs", 1, 1)
    parts = [
        (await call(serving, "read_page", page=f"{SHOP}/long", part=n))["structuredContent"]
        for n in (1, 2, 3)
    ]
    assert [len(one["text"]) for one in parts[:2]] == [MAX_PART, MAX_PART]
    text = "".join(one["text"] for one in parts)
    assert all(f"Rule {n}: boots" in text for n in range(1000))


async def test_a23_a_page_of_a_file_has_a_name_that_shows_no_path(serving: Stage) -> None:
    result = await call(serving, "search_pages", query="waxed boots")
    assert LOCAL not in json.dumps(result)
    found = result["structuredContent"]["passages"][0]
    assert (found["url"], found["page"]) == ("", page_id(LOCAL))
    read = await call(serving, "read_page", page=found["page"])
    assert read["structuredContent"]["text"] == "Boots are waxed twice."
    assert LOCAL not in json.dumps(read)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_pages", {}),
        ("search_pages", {"query": ""}),
        ("search_pages", {"query": 5}),
        ("search_pages", {"query": "x" * 1001}),
        ("read_page", {"page": "https://other.example/"}),
        ("read_page", {"page": "../../etc/passwd"}),
        ("read_page", {"page": f"{SHOP}/customs", "part": 2}),
        ("read_page", {"page": f"{SHOP}/customs", "part": True}),
        ("read_page", {}),
    ],
)
async def test_a23_wrong_arguments_are_told_to_the_assistant(
    serving: Stage, name: str, arguments: dict[str, Any]
) -> None:
    result = await call(serving, name, **arguments)
    assert result["isError"] is True
    assert result["content"][0]["text"]


MESSAGE = newest("tools/call", name="search_pages", arguments={"query": "boots"})


@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        ([MESSAGE], {}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1}, {}, 400, -32600),
        ({**MESSAGE, "id": {}}, {}, 400, -32600),
        ({**MESSAGE, "params": []}, {}, 400, -32600),
        (MESSAGE, {"MCP-Protocol-Version": "2099-01-01"}, 400, -32022),
        (MESSAGE, {"MCP-Protocol-Version": NEWEST}, 400, -32020),
        (MESSAGE, {**headers_of(MESSAGE), "Mcp-Name": "read_page"}, 400, -32020),
        (MESSAGE, {**headers_of(MESSAGE), "Mcp-Name": "=?base64?!?="}, 400, -32020),
        ({**MESSAGE, "params": {}}, headers_of(MESSAGE), 400, -32602),
        (newest("tools/call", name="delete_all"), {}, 400, -32602),
        (newest("resources/list"), headers_of(newest("resources/list")), 404, -32601),
        (newest("sessions/list"), {}, 200, -32601),
    ],
)
async def test_a23_other_messages_are_refused(
    serving: Stage, message: object, headers: dict[str, str], status: int, code: int
) -> None:
    response = await post(serving, message, headers)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"id": 1, "id": 2}', "application/json", 400),
        (b"[" * 17 + b"]" * 17, "application/json", 400),
        (b" " * (MAX_BODY + 1), "application/json", 400),
        (b"{}", "text/plain", 415),
    ],
)
async def test_a23_bodies_are_limited(serving: Stage, body: bytes, kind: str, status: int) -> None:
    assert (await post(serving, body, {"Content-Type": kind})).status_code == status


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a23_there_is_no_stream_and_no_session(serving: Stage, method: str) -> None:
    assert (await post(serving, b"", method=method)).status_code == 405


async def test_a23_foreign_pages_are_refused_also_after_dns_rebinding(serving: Stage) -> None:
    """An attacker's name that resolves to this machine stays in `Origin` and `Host`."""
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "http://evil.example:8000", "Host": "evil.example:8000"},
        {"Origin": "null"},
    ):
        response = await post(serving, MESSAGE, {**headers_of(MESSAGE), **headers})
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers
    allowed = await post(serving, MESSAGE, {**headers_of(MESSAGE), "Origin": ORIGIN})
    assert allowed.status_code == 200


async def test_a23_a_key_is_needed_where_there_are_keys(knowledge: Path) -> None:
    """Wrong keys have a limit of their own, as at `/v1`; another path's key opens nothing."""
    other = "an-openai-clients-key-of-32-chars"
    settings: dict[str, Any] = {
        "mcp": "true",
        "mcp_keys": KEY,
        "openai_keys": other,
        "knowledge": str(knowledge),
    }
    with stage(1, **FAST, **settings) as running:
        right = {**headers_of(MESSAGE), "Authorization": f"Bearer {KEY}"}
        assert (await post(running, MESSAGE, right)).status_code == 200
        line = await running.service.logged(path="/mcp", status=200)
        assert line["client"]
        wrong = {**headers_of(MESSAGE), "Authorization": f"Bearer {other}"}
        statuses = [(await post(running, MESSAGE, wrong)).status_code for _ in range(11)]
        assert statuses == [401] * 10 + [429]
        assert (await post(running, MESSAGE, right)).status_code == 200
        assert KEY not in running.service.stderr


@pytest.mark.slow
async def test_a23_a_flood_is_refused_and_visitors_are_not(knowledge: Path) -> None:
    with stage(1, **FAST, knowledge=str(knowledge), mcp="true") as running:
        many = [
            post(running, MESSAGE, headers_of(MESSAGE)) for _ in range(PER_ADDRESS.requests + 9)
        ]
        statuses = [one.status_code for one in await asyncio.gather(*many)]
        assert statuses.count(200) == PER_ADDRESS.requests
        assert statuses.count(429) == 9
        line = await running.service.logged(path="/mcp", status=429)
        assert line["limit"] == "assistants"
        running.script(b.answer("Hi"))
        assert (await running.ask("Hello?")).text == "Hi"


async def test_a23_the_panels_insights_count_searches_and_readings(knowledge: Path) -> None:
    """Not lists of tools, and not the chats of visitors."""
    token = "a-token-of-the-operator-with-32-letters"
    admin = {"ADMIN_TOKEN": token}
    with stage(1, **FAST, knowledge=str(knowledge), mcp="true", environment=admin) as running:
        await ask(running, "tools/list")
        await call(running, "search_pages", query="boots")
        await call(running, "read_page", page=f"{SHOP}/customs")
        running.script(b.answer("Hi"))
        await running.ask("Hello?")
        async with httpx.AsyncClient(trust_env=False) as operator:
            headers = {"Authorization": f"Bearer {token}"}
            found = await operator.get(f"{running.url}/admin/api/insights", headers=headers)
    [day] = found.json()["days"]
    assert (day["assistants"], day["turns"]) == (2, 0)


async def test_a23_the_log_names_the_tool_and_not_the_query(serving: Stage) -> None:
    await call(serving, "search_pages", query="a very private query")
    line = await serving.service.logged(path="/mcp", tool="search_pages")
    assert (line["mcp"], line["status"], line["code"]) == ("tools/call", 200, "ok")
    assert "private query" not in serving.service.stderr
