"""The tools that are made of the settings call a shop and functions of the site."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from kefu.auth.identity import Identities
from kefu.bootstrap.base import Connection
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.tools import Around, build_tools
from kefu.settings import ConfigurationError, Settings, load
from kefu.tools.own import own_tools
from kefu.tools.tool import Outcome, Tool, Visitor
from tests.fakes.tool_shop import USER_SECRET, ToolShop

TABLES = """\
[tools.order_status]
url = "{shop}/orders/{{order_id}}"
description = " State of an order. "
title = "Looking up your order"
links = ["https://shop.example/"]
after = ["stock"]
headers = {{ X-Shop = "env:SHOP_TOKEN" }}
[tools.order_status.parameters]
order_id = {{ type = "string" }}

[tools.cancel_order]
url = "{shop}/orders/{{order_id}}/cancel"
method = "POST"
description = "Cancels an order."
approve = "Cancel order {{order_id}}? {{items}} items, {{total}}"
preview = "order_status"
idempotent = true
[tools.cancel_order.parameters]
order_id = {{ type = "string" }}

[tools.my_orders]
url = "{shop}/customers/{{customer_id}}/orders?state={{state}}"
description = "The customer's orders."
user = "required"
bind = {{ customer_id = "user.sub" }}
optional = ["state"]
[tools.my_orders.parameters]
customer_id = {{ type = "string" }}
state = {{ enum = ["paid", "sent"] }}

[tools.stock]
python = "kefu_test_site:stock"
effect = "read"

[tools.search_pages]
title = "Reading"
"""

SITE = '''
import asyncio, threading
from typing import Literal

def stock(sku: str, shop: Literal["north", "south"] = "north", *, visit) -> dict[str, object]:
    """How many of an article are left."""
    if sku == "none":
        raise LookupError("secret-42")
    return {"sku": sku, "thread": threading.current_thread().name, "user": visit.user}

async def slow(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return threading.current_thread().name

def book(day: str) -> str:
    """Book a day."""
    return day

number = 5
'''


@pytest.fixture
def shop() -> Iterator[ToolShop]:
    with ToolShop() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module of the site."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kefu_test_site", raising=False)
    (tmp_path / "kefu_test_site.py").write_text(SITE)
    monkeypatch.setenv("SHOP_TOKEN", "canary-token-of-the-shop")
    monkeypatch.setenv("KEFU_IDENTITY_SECRETS", USER_SECRET)
    return tmp_path


class Built:
    """The tools of a file, and what they used of the service."""

    def __init__(self, text: str, own_port: int = 0) -> None:
        Path("kefu.toml").write_text(text)
        self.settings: Settings = load()
        self.connections: list[Connection] = []
        self.notices: list[str] = []
        self.stored: dict[str, tuple[str, ...]] = {}
        """The secrets in AWS by their places."""
        users = Identities(self.settings.identity_keys, "kefu")
        now, notice = SystemClock().now, self.notices.append
        around = Around(self._secret, self.connections, now, notice, users, own_port)
        self.tools = build_tools(self.settings, around, own_tools(has_form=False))

    def _secret(
        self, place: str, what: str, set_secrets: Callable[[tuple[str, ...]], None]
    ) -> Callable[[], Awaitable[None]] | None:
        async def ready() -> None:
            if place in self.stored:
                set_secrets(self.stored[place])

        return ready if place else None

    async def run(self, name: str, user: str = "", key: str = "", **given: object) -> Outcome:
        return await self.tools[name].run(given, Visitor(user=user), key)


@pytest.fixture
async def built(folder: Path, shop: ToolShop) -> AsyncIterator[Built]:
    made = Built(TABLES.format(shop=shop.url))
    yield made
    for one in made.connections:
        await one.aclose()


def test_a_tool_has_what_its_table_says(built: Built, shop: ToolShop) -> None:
    assert list(built.tools) == [
        "order_status",
        "cancel_order",
        "my_orders",
        "stock",
        "search_pages",
    ]
    status, cancel, mine, stock, search = built.tools.values()
    assert status == Tool(
        name="order_status",
        description="State of an order.",
        parameters={
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
        run=status.run,
        effect="read",
        title={"": "Looking up your order"},
        host=shop.host,
        after=("stock",),
        links=("https://shop.example/",),
    )
    assert (cancel.effect, cancel.preview, cancel.idempotent) == ("write", "order_status", True)
    assert cancel.approve == {"": "Cancel order {order_id}? {items} items, {total}"}
    assert mine.needs_user
    assert mine.bind == {"customer_id": "user.sub"}
    assert mine.parameters["properties"] == {"state": {"enum": ["paid", "sent"]}}
    assert mine.parameters["required"] == []
    assert (stock.host, stock.effect, stock.parameters["required"]) == ("", "read", ["sku"])
    assert (search.title, search.is_own) == ({"": "Reading"}, True)


async def test_a1_http_tools_send_their_headers_and_arguments(built: Built, shop: ToolShop) -> None:
    said = await built.run("order_status", order_id="5")
    assert (said.state, '"89.00 EUR"' in said.text) == ("done", True)
    assert (await built.run("cancel_order", key="k-1", order_id="5")).state == "done"
    look, cancel = shop.requests
    assert look.headers["x-shop"] == "canary-token-of-the-shop"
    assert (cancel.method, cancel.headers["idempotency-key"]) == ("POST", "k-1")
    assert shop.cancelled == {"5": 1}


async def test_a12_the_shop_gets_a_signed_token_of_the_user(built: Built, shop: ToolShop) -> None:
    said = await built.run("my_orders", user="ada", customer_id="ada", state="paid")
    assert (said.state, '"id":"6"' in said.text) == ("done", True)
    assert shop.requests[0].query == {"state": ["paid"]}
    other = await built.run("my_orders", user="bob", customer_id="ada")
    assert (other.state, other.text) == ("failed", "The service answered HTTP 403 (Forbidden).")
    await built.run("order_status", user="ada", order_id="5")
    assert "kefu-user" not in shop.requests[-1].headers


async def test_a13_a_secret_in_aws_is_read_before_the_first_request(
    folder: Path, shop: ToolShop
) -> None:
    built = Built(TABLES.format(shop=shop.url).replace("env:SHOP_TOKEN", "ssm:/shop/token"))
    said = await built.run("order_status", order_id="5")
    assert said == Outcome("A secret of the tool could not be read.", "failed")
    built.stored["ssm:/shop/token"] = ("one", "two")
    with pytest.raises(ValueError, match="holds more than one value"):
        await built.run("order_status", order_id="5")
    built.stored["ssm:/shop/token"] = ("from-ssm",)
    assert (await built.run("order_status", order_id="5")).state == "done"
    built.stored["ssm:/shop/token"] = ("rotated",)
    assert (await built.run("order_status", order_id="5")).state == "done"
    assert [one.headers["x-shop"] for one in shop.requests] == ["from-ssm", "rotated"]
    for one in built.connections:
        await one.aclose()


async def test_a13_no_tool_reaches_the_port_of_the_service(folder: Path, shop: ToolShop) -> None:
    built = Built(TABLES.format(shop=shop.url), own_port=shop.port)
    said = await built.run("order_status", order_id="5")
    assert said.state == "failed"
    assert "its address is forbidden to tools" in said.text
    assert shop.requests == []
    for one in built.connections:
        await one.aclose()


async def test_a1_functions_of_the_site_run_as_hooks_do(built: Built) -> None:
    """In a thread of their own. What went wrong is for the operator, not for the visitor."""
    said = await built.run("stock", user="ada", sku="tea")
    assert said == Outcome('{"sku": "tea", "thread": "kefu hook", "user": "ada"}')
    failed = await built.run("stock", sku="none")
    assert failed == Outcome("The tool failed.", "failed")
    assert built.notices == ["the tool stock raised LookupError in line 8"]


async def test_an_async_function_does_not_run_on_the_loop_of_the_server(folder: Path) -> None:
    built = Built('[tools.slow]\npython = "kefu_test_site:slow"\neffect = "read"\n')
    assert await built.run("slow", seconds=0) == Outcome("kefu async hooks")
    for one in built.connections:
        await one.aclose()
    assert await built.run("slow", seconds=0.0) == Outcome("kefu async hooks")
    for one in built.connections:
        await one.aclose()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            'python = "kefu_test_site:stok"\neffect = "read"',
            "line 2: [tools.x] python: kefu_test_site:stok cannot be loaded: AttributeError",
        ),
        (
            'python = "no_such_site:stock"\neffect = "read"',
            "cannot be loaded: No module named 'no_such_site'; PYTHONPATH=. finds a module in this",
        ),
        ('python = "stock"\neffect = "read"', "stock must be module:function, such as"),
        ('python = "kefu_test_site:number"\neffect = "read"', "number is no function"),
        (
            'python = "kefu_test_site:book"\napprove = "Book {day}?"',
            "line 2: [tools.x] python: day is free text, so the model could choose",
        ),
        (
            'python = "kefu_test_site:slow"\napprove = "Wait {hours}?"',
            "line 3: [tools.x] approve: hours is no parameter: add it, or name a preview",
        ),
        (
            'python = "kefu_test_site:slow"\neffect = "read"\nbind = { id = "user.sub" }',
            "line 4: [tools.x] bind: id is no parameter of kefu_test_site:slow",
        ),
    ],
)
def test_a3_a_wrong_function_stops_the_start(folder: Path, table: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        Built(f"[tools.x]\n{table}\n")
    assert sentence in str(error.value)
    assert str(error.value).startswith("kefu.toml, line ")
