"""A site whose texts are an attacker's: its tools call real shops on loopback, its model obeys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from kefu.auth.identity import Identities
from kefu.bootstrap.base import Connection
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.tools import Around, build_tools
from kefu.chat.grounding import Grounder, PassageBudget
from kefu.knowledge.finding import PassageHit
from kefu.relay.redaction import Secrets
from kefu.sessions.store.model import Retention
from kefu.settings import load
from kefu.tools.own import own_tools
from kefu.tools.tool import Tool
from kefu.tools.toolbox import Toolbox
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Answer, Process
from tests.fakes.obedient import Obedient
from tests.fakes.recorded_tool import card_in
from tests.fakes.tool_shop import MY_ORDERS, ShopRequest, ToolShop, order_tools

SHOP_TOKEN = "canary-token-of-the-shop-5f3c9a"

_HEADERS = 'headers = {{ X-Shop = "env:SHOP_TOKEN" }}'

TABLES = (
    order_tools(
        '"Cancel order {{order_id}}? {{items}} items, {{total}}"',
        status=f'title = "Looking up your order"\n{_HEADERS}\nerrors = "text"',
        cancel=f'title = "Cancelling your order"\n{_HEADERS}',
    )
    + """
[tools.stock]
url = "{other}/stock/{{sku}}"
description = "How many are left."
title = "Looking into the warehouse"
errors = "text"
[tools.stock.parameters]
sku = {{ type = "string" }}

[tools.reserve]
url = "{other}/bookings"
body = ["day"]
description = "Books a day."
title = "Booking a day"
approve = "Book a day? {{left}} left"
preview = "stock"
[tools.reserve.parameters]
day = {{ enum = ["mon", "tue"] }}
sku = {{ type = "string" }}

"""
    + MY_ORDERS
    + """\
parameters.customer_id = {{ type = "string" }}

[tools.search_pages]
"""
)


class HostileShop(ToolShop):
    """A shop that says what an attacker wants, where the owner's service lets strangers write."""

    def __init__(self) -> None:
        super().__init__()
        self.says = ""
        """The text of each error."""

    def answer(self, request: ShopRequest) -> tuple[int, Any]:
        status, found = super().answer(request)
        if status >= 400 and self.says:
            found = {"error": self.says}
        if "echo" in request.path:  # as services do that are made for trying requests
            return 200, {"headers": dict(request.headers), "items": request.headers.get("x-shop")}
        return status, found

    @property
    def writes(self) -> int:
        return sum(one.method not in ("GET", "HEAD") for one in self.requests)


SEARCHED = "pots of tea"
"""The words of the model's own search."""


class HostilePages:
    """Learnt pages of which one has the attacker's text."""

    languages = ("en",)

    def __init__(self) -> None:
        self.text = "A pot costs five euros."
        self.found = ""
        """The text of the page that the model's own search finds."""

    async def find(self, question: str, before: Sequence[str], limit: int) -> list[PassageHit]:
        url = "https://shop.example/pots"
        text = self.found if question == SEARCHED else self.text
        return [PassageHit(url, url, text[:100], (), text, 9.0)]


class AttackedSite:
    """Stored chats in this process. Both shops and the sockets to them are real."""

    def __init__(self, folder: Path, *, has_pages: bool = False, tables: str = TABLES) -> None:
        """The current folder must be `folder`, and the environment must have SHOP_TOKEN."""
        self.shop, self.other = HostileShop(), HostileShop()
        (folder / "kefu.toml").write_text(tables.format(shop=self.shop.url, other=self.other.url))
        self.settings = load()
        self.connections: list[Connection] = []
        self.notices: list[str] = []
        self.clock, self.model, self.pages = SystemClock(), Obedient(), HostilePages()
        users = Identities(self.settings.identity_keys, "kefu")
        around = Around(
            lambda *_: None, self.connections, self.clock.now, self.notices.append, users
        )
        self.tools = build_tools(self.settings, around, own_tools(has_form=True))
        self.store = ChatsInMemory(self.clock.now, Retention())
        self.grounder = Grounder(self.pages, PassageBudget(4000, 9000)) if has_pages else None
        self.process = self.new_process()

    def new_process(self, *more: Tool, **options: Any) -> Process:
        """`more`: further tools. `options`: of the process."""
        given: dict[str, Any] = {
            "grounder": self.grounder,
            "toolbox": Toolbox([*self.tools.values(), *more]),
            "hooks": {"user_profile": {}},
            "redact": Secrets(self.settings.secrets).hide,
        }
        return Process(self.store, self.model, self.clock, **{**given, **options})

    async def __aenter__(self) -> Self:
        self.shop.start()
        self.other.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self.connections:
            await one.aclose()
        await self.process.sessions.aclose()
        self.shop.stop()
        self.other.stop()

    @property
    def writes(self) -> int:
        return self.shop.writes + self.other.writes

    @property
    def systems(self) -> list[str]:
        """The system messages of all requests to the model."""
        bodies = self.model.bodies
        found = [[m["content"] for m in one["messages"] if m["role"] == "system"] for one in bodies]
        assert all(len(one) == 1 for one in found), "one system message each"
        return [one[0] for one in found]

    async def kept(self, answer: Answer) -> str:
        """All that is stored of a chat: messages, calls of tools, requests to the model."""
        await self.process.sessions.deps.writer.aclose()
        id = answer.headers["x-session-id"]
        messages = await self.store.messages(id, now=self.clock.now())  # type: ignore[arg-type]
        calls = await self.store.calls(id)  # type: ignore[arg-type]
        bodies = [repr((one.request, one.response, one.meta, one.error)) for one in calls]
        return "\n".join([repr(messages), *bodies])


def cards(answer: Answer) -> list[dict[str, Any]]:
    """The cards of an answer: one at most."""
    if not any(one.get("object") == "kefu.approval" for one in answer.events):
        return []
    return [card_in(answer.events)]


def order_id(number: str) -> str:
    return json.dumps({"order_id": number})
