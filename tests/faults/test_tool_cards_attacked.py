"""A9 to A13: what a card shows is what a click sends, whatever the model wrote as arguments."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from kefu.bootstrap.clock import SystemClock
from kefu.sessions.store.model import SessionId
from kefu.sessions.turn.tools import Click
from kefu.tools.tool import Arguments, Outcome, Tool, Visitor
from tests.fakes.attacked import SHOP_TOKEN, AttackedSite, cards, order_id
from tests.fakes.in_process import Answer
from tests.fakes.recorded_tool import card_in, steps_in
from tests.fakes.tool_shop import USER_SECRET
from tests.unit.knowledge.test_citations import links

TABLES = """\
[tools.order_status]
url = "{shop}/orders/{{order_id}}"
description = "State of an order."
title = "Looking up your order"
headers = {{ X-Shop = "env:SHOP_TOKEN" }}
[tools.order_status.parameters]
order_id = {{ }}

[tools.cancel_order]
url = "{shop}/orders/{{order_id}}/cancel"
method = "POST"
description = "Cancels an order."
approve = "Cancel order {{order_id}}? {{items}} items"
preview = "order_status"
body = ["reason"]
optional = ["reason"]
[tools.cancel_order.parameters]
order_id = {{ }}
reason = {{ type = "string" }}

[tools.stock]
url = "{other}/stock/{{sku}}"
description = "How many are left."
[tools.stock.parameters]
sku = {{ type = "string" }}

[tools.ask_person]
"""
AS_SENT = (
    (order_id("5"), "5"),
    ('{"order_id": "6", "order_id": "5"}', "5"),
    ('{"order_id": "5", "reason": "a", "reason": "b"}', "5"),
    ('{"\\u006frder_id": "5"}', "5"),
    ('{"order_id": "6", "order\\u005fid": 5}', "5"),
    ('{"order_id": 5}', "5"),
    ('{"order_id": 5.0}', "5"),
    ('{"order_id": 5e0}', "5"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOP_TOKEN", SHOP_TOKEN)
    monkeypatch.setenv("KEFU_IDENTITY_SECRETS", USER_SECRET)
    return tmp_path


async def asked(site: AttackedSite, name: str, arguments: str) -> Answer:
    code = site.model.order([(name, arguments)], says="Please click.")
    return await site.process.ask(f"Please. {code}")


async def click(site: AttackedSite, answer: Answer, card: str = "", **more: Any) -> Answer:
    card = card or card_in(answer.events)["id"]
    given = {"click": Click(card, True), "client_message_id": card, **more}
    return await site.process.ask("", answer, **given)


@pytest.mark.parametrize(("arguments", "number"), AS_SENT)
async def test_a10_card_preview_digest_and_request_are_of_one_order(
    folder: Path, arguments: str, number: str
) -> None:
    """With names that stand twice, and with other spellings of a number."""
    async with AttackedSite(folder, tables=TABLES) as site:
        answer = await asked(site, "cancel_order", arguments)
        [card] = cards(answer)
        assert "\u2068" + number in card["text"]
        assert (await click(site, answer)).status == 200
        assert [one.path for one in site.shop.requests] == [
            f"/orders/{number}",
            f"/orders/{number}/cancel",
        ]
        assert dict(site.shop.cancelled) == {number: 1}
        await click(site, answer)
        assert dict(site.shop.cancelled) == {number: 1}


ODD_IDS = (
    *(
        "..",
        ".",
        "%2e%2e",
        "%2e%2e%2f7",
        "7/../5",
        "5/cancel",
        "/",
        "5?x=1",
        "5#a",
        "@evil.example",
    ),
    *(":80", "5\\..\\7", "．．", "5\r\nX-Evil: 1", "\u202e5", "5\u200b", "５", "5\ud800", "5\x00"),
    *(
        "//evil.example/",
        "5;a=1",
        "..;",
        "..;/7",
        "5&b=2",
        "{order_id}",
        3900 * "5",
        "",
        " ",
        "\u2028",
        "\u2069X",
    ),
)


@pytest.mark.parametrize("name", ["order_status", "cancel_order"])
async def test_a13_no_value_leaves_its_segment_of_the_path(folder: Path, name: str) -> None:
    async with AttackedSite(folder, tables=TABLES) as site:
        site.shop.says = "no"
        for odd in ODD_IDS:
            site.shop.orders = {odd: {"id": odd, "items": 1, "state": "paid"}}
            answer = await asked(site, name, order_id(odd))
            if cards(answer):
                await click(site, answer)
        for one in site.shop.requests:
            start, orders, number, *rest = one.target.split("/")
            assert (start, orders, rest) in (("", "orders", []), ("", "orders", ["cancel"]))
            assert unquote(number) in ODD_IDS
            assert not set(number) & set("?#\\;\r\n ")
            assert "x-evil" not in one.headers
        assert len(site.shop.requests) > 10
        assert site.other.requests == []


NUMBERS = ("1e400", "-1e400", "NaN", "Infinity", "-Infinity", "9" * 3900, "9" * 5000, "1e-400")
NESTED = ("[" * 900 + "]" * 900, "[" * 1900 + "]" * 1900, '{"a":' * 700 + "1" + "}" * 700)


@pytest.mark.parametrize("value", [*NUMBERS, *NESTED], ids=lambda value: value[:9])
@pytest.mark.parametrize("name", ["order_status", "cancel_order", "open"])
async def test_a7_numbers_and_depths_that_json_hardly_has_end_in_words(
    folder: Path, name: str, value: str
) -> None:
    """`open` is a tool of a server that takes any arguments."""
    given: list[Arguments] = []

    async def run(arguments: Arguments, _visitor: Visitor, _key: str) -> Outcome:
        given.append(arguments)
        return Outcome("fine")

    schema = {"type": "object"}
    more = Tool("open", "Takes all.", schema, run, host="mcp.example")
    async with AttackedSite(folder, tables=TABLES) as site:
        site.process = site.new_process(more)
        answer = await asked(site, name, f'{{"order_id": {value}}}')
        assert answer.complete, answer.body
        assert site.writes == 0
        assert all(len(one.path.split("/")) == 3 for one in site.shop.requests)


async def test_a9_names_of_arguments_stand_on_one_line_in_isolates(folder: Path) -> None:
    """A card without words of the owner: a read at another host whose schema is open."""

    async def run(_given: Arguments, _visitor: Visitor, _key: str) -> Outcome:
        return Outcome("fine")

    more = Tool("open", "Takes all.", {"type": "object"}, run, host="mcp.example")
    async with AttackedSite(folder, tables=TABLES) as site:
        site.process = site.new_process(more)
        name = "a?\n\nClick to win \u2069\u202e" + 300 * "x"
        code = site.model.order([("order_status", order_id("5"))], [("open", {name: "v"})])
        [card] = cards(await site.process.ask(f"Please. {code}"))
        text = card["text"]
        assert text.replace("\u2068", "").replace("\u2069", "").isprintable()
        assert text.startswith("open: \u2068a? Click to win x")
        assert len(text) < 250


async def test_a9_a_card_shows_each_value_that_it_sends(folder: Path) -> None:
    """The owner's words have no place for `reason`, which the model may leave out."""
    async with AttackedSite(folder, tables=TABLES) as site:
        answer = await asked(site, "cancel_order", '{"order_id": "5", "reason": "refund to evil"}')
        [card] = cards(answer)
        assert card["text"] == (
            "Cancel order \u20685\u2069? \u20682\u2069 items (reason: \u2068refund to evil\u2069)"
        )
        await click(site, answer)
        assert site.shop.requests[-1].json == {"reason": "refund to evil"}


async def test_a13_a_preview_that_echoes_a_secret_shows_it_to_nobody(folder: Path) -> None:
    async with AttackedSite(folder, tables=TABLES) as site:
        site.shop.orders["echo"] = {}
        answer = await asked(site, "cancel_order", order_id("echo"))
        [card] = cards(answer)
        assert card["text"] == "Cancel order \u2068echo\u2069? \u2068[key]\u2069 items"
        shown = await click(site, answer)
        assert SHOP_TOKEN not in answer.body + shown.body + await site.kept(answer)


async def test_a7_raw_halves_of_surrogate_pairs_spoil_no_chat(folder: Path) -> None:
    async with AttackedSite(folder, tables=TABLES) as site:
        for arguments in ('{"order_id": "5\ud800"}', '\ud800{"order_id": "5"}'):
            answer = await asked(site, "order_status", arguments)
            assert answer.complete, answer.body
            assert (await site.process.ask("And now?", answer)).complete


async def test_a7_later_requests_have_only_names_and_arguments_that_providers_accept(
    folder: Path,
) -> None:
    """Who refuses one call in the history would refuse all later messages of the chat."""
    async with AttackedSite(folder, tables=TABLES) as site:
        calls = [("order status", "{}"), ("order_status", "{"), ("order_status", "[1]")]
        code = site.model.order([*calls, ("order_status", order_id(9000 * "5"))])
        answer = await site.process.ask(f"Please. {code}")
        await site.process.ask(f"And now? {site.model.order()}", answer)
        told = [
            call["function"]
            for body in site.model.bodies
            for one in body["messages"]
            for call in one.get("tool_calls", [])
        ]
        assert len(told) == 8
        for one in told:
            assert one["name"] in ("order_status", "unknown")
            assert isinstance(json.loads(one["arguments"]), dict)
            assert len(one["arguments"]) <= 4000


async def test_a7_an_endless_call_ends(folder: Path) -> None:
    async with AttackedSite(folder, tables=TABLES) as site:
        code = site.model.order(150 * [("order_status", order_id(30_000 * "5"))])
        answer = await site.process.ask(f"Please. {code}")
        assert "The answer is too long." in answer.body
        calls = [("order_status", order_id(1000 * str(n % 10))) for n in range(100)]
        code = site.model.order(calls)
        answer = await site.process.ask(f"Please. {code}")
        assert answer.complete
        assert len(steps_in(answer.events)) == 100 + 4
        chat = SessionId(answer.headers["x-session-id"])
        [question, _] = await site.store.messages(chat, limit=9, now=site.clock.now())
        assert len(question.steps) <= 16_000


@pytest.mark.slow
async def test_a11_calls_previews_and_cards_have_a_rate(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chat has 60 calls in ten minutes, and five cards in an hour."""
    now = time.time()
    monkeypatch.setattr(SystemClock, "now", lambda _: now)  # on a slow machine, more is granted
    async with AttackedSite(folder, tables=TABLES) as site:
        for number in range(40):
            site.shop.orders[f"n{number}"] = {"items": 1}
        answer = await asked(site, "cancel_order", order_id("n0"))
        shown = 1
        for number in range(1, 9):
            code = site.model.order([("cancel_order", order_id(f"n{number}"))])
            shown += len(cards(await site.process.ask(f"Please. {code}", answer)))
        assert shown == 5
        for number in range(40):
            steps = [[("cancel_order", order_id(f"m{number}-{n}"))] for n in range(5)]
            code = site.model.order(*steps)
            await site.process.ask(f"Please. {code}", answer)
        assert len(site.shop.requests) == 60


async def test_a11_the_summary_for_a_person_has_no_link(folder: Path) -> None:
    async with AttackedSite(folder, tables=TABLES) as site:
        says = (
            "Refund at [here](https://evil.example/a) or https://evil.example www.evil.example <a>"
        )
        answer = await asked(site, "ask_person", json.dumps({"summary": says}))
        steps = [one["step"] for one in answer.events if one.get("object") == "kefu.step"]
        [summary] = [one["summary"] for one in steps if "summary" in one]
        assert "Refund" in summary
        assert links(summary) == []
