"""Tools of the real service, with a shop on a socket: events, cards, following, export, `/v1`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, ask, client, conversation
from tests.fakes.chatting import STORE, Visitor, new_id
from tests.fakes.choosing import Choosing, Rule, rule
from tests.fakes.recorded_tool import card_in, steps_in
from tests.fakes.stage import FAST, Stage, stage
from tests.fakes.tool_shop import ToolShop, order_tools
from tests.web.test_taking_up import taken_up

CONFIG = order_tools(
    '{{ en = "Cancel order {{order_id}}? {{total}}", zh = "取消订单 {{order_id}}？" }}',
    status='title = {{ en = "Looking up your order", zh = "正在查询订单" }}\n'
    'headers = {{ Authorization = "env:SHOP_TOKEN" }}',
    cancel='title = "Cancelling your order"',
)
SECRET = "Bearer canary-shop-token-1"
RULES = (
    rule(r"[Ww]here is order (\w+)", "order_status", "Let me look.", order_id=r"\1"),
    rule(r"[Cc]ancel (\w+)", "cancel_order", order_id=r"\1"),
    Rule(
        r"orders (\w+) and (\w+)",
        lambda found: [("order_status", {"order_id": one}) for one in found.groups()],
    ),
)


class Shop(NamedTuple):
    stage: Stage
    shop: ToolShop

    def visitor(self) -> Visitor:
        return Visitor(self.stage)


def events(answer: Answer) -> Sequence[dict[str, Any]]:
    lines = answer.raw.decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


async def click(visitor: Visitor, card: str, *, approved: bool = True) -> Answer:
    body = {
        "session_id": visitor.session_id,
        "steps": True,
        "approval": {"id": card, "approved": approved},
    }
    return await visitor.stage.ask(body, headers=visitor.headers)


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with ToolShop() as shop:
        config = tmp_path_factory.mktemp("tools") / "kefu.toml"
        config.write_text(CONFIG.format(shop=shop.url), encoding="utf-8")
        given: dict[str, Any] = {"config": str(config), "store": STORE, "openai_api": "server"}
        environment = {"SHOP_TOKEN": SECRET}
        with stage(20, **FAST, **given, environment=environment) as running:
            running.script(Choosing(*RULES))
            yield Shop(running, shop)
            assert SECRET not in running.service.stderr


async def test_a16_events_only_for_who_asks_and_the_others_read_the_card(sold: Shop) -> None:
    """T18: the header's secret is in no answer; the shop has got it."""
    visitor = sold.visitor()
    plain = await visitor.say("Where is order 5?")
    assert [one["object"] for one in events(plain)] == ["chat.completion.chunk"] * len(
        events(plain)
    )
    assert '"state":"paid"' in plain.text
    asked = await visitor.say("Cancel 5")
    assert asked.text == "Cancel order \u20685\u2069? \u206889.00 EUR\u2069"
    with_steps = await visitor.say("Where is order 6?", steps=True)
    assert steps_in(events(with_steps)) == [
        ("order_status", "input-available"),
        ("order_status", "output-available"),
    ]
    assert sold.shop.requests[-1].headers["authorization"] == SECRET
    assert "canary-shop" not in with_steps.raw.decode()


async def test_a16_json_for_a_client_of_v1_stays_as_the_model_wrote_it(sold: Shop) -> None:
    value = '{"see": "https://evil.example/a", "![x](y)": [1]}'
    sold.stage.script(b.answer(value), asking="J1")
    asked = conversation("J1?", response_format={"type": "json_object"}, stream=True)
    given = await sold.stage.ask(asked, path="/v1/chat/completions")
    assert given.text == value
    body = sold.stage.upstream.calls("J1")[0].body
    assert body["response_format"] == {"type": "json_object"}
    assert [one["function"]["name"] for one in body["tools"]] == ["order_status"]


async def test_a16_json_for_a_client_of_v1_has_no_text_from_before_a_call(sold: Shop) -> None:
    asked = conversation("Where is order 5?", response_format={"type": "json_object"}, stream=True)
    given = await sold.stage.ask(asked, path="/v1/chat/completions")
    assert given.text.startswith("The results: {")
    deltas = [one["choices"][0]["delta"] for one in events(given) if one.get("choices")]
    assert [one["role"] for one in deltas if "role" in one] == ["assistant"]
    assert "role" in deltas[0]


async def test_a14_texts_are_in_the_visitors_language(sold: Shop) -> None:
    visitor, chinese = sold.visitor(), {"Accept-Language": "zh-CN,zh;q=0.9"}
    looked = await sold.stage.ask({"message": "Where is order 6?", "steps": True}, headers=chinese)
    shown = [one["step"]["title"] for one in events(looked) if one["object"] == "kefu.step"]
    assert shown == ["正在查询订单"] * 2
    asked = await sold.stage.ask({"message": "Cancel 6", "steps": True}, headers=chinese)
    assert card_in(events(asked))["text"] == "取消订单 \u20686\u2069？"
    assert visitor.session_id is None


async def test_a10_a_click_cancels_once_and_the_chat_shows_it(sold: Shop) -> None:
    visitor = sold.visitor()
    card = card_in(events(await visitor.say("Cancel 7", steps=True)))
    before = (await visitor.look("/messages?steps=true")).json()["messages"][-1]
    assert before["approval"]["state"] == "requested"
    answer = await click(visitor, card["id"])
    assert steps_in(events(answer))[-1] == ("cancel_order", "output-available")
    assert (await click(visitor, card["id"])).text == answer.text
    assert sold.shop.cancelled["7"] == 1
    shown = (await visitor.look("/messages?steps=true")).json()["messages"]
    assert [one["content"] for one in shown[2:]] == [f"✓ {card['text']}", answer.text]
    assert shown[1]["approval"]["state"] == "approved"
    assert shown[3]["steps"][0]["state"] == "output-available"
    assert "steps" not in (await visitor.look("/messages")).json()["messages"][1]


async def test_a10_another_visitor_cannot_click(sold: Shop) -> None:
    visitor, other = sold.visitor(), sold.visitor()
    card = card_in(events(await visitor.say("Cancel 5", steps=True)))
    await other.say("hello")
    for session, token in (
        (visitor.session_id, other.token),
        (visitor.session_id, ""),
        (other.session_id, other.token),
    ):
        body = {"session_id": session, "approval": {"id": card["id"], "approved": True}}
        refused = await sold.stage.ask(body, headers={"X-Session-Token": token})
        assert refused.status in (404, 409)
    assert sold.shop.cancelled["5"] == 0


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"approval": {"id": "approval-1-" + 32 * "a", "approved": True}}, "session_id"),
        ({"session_id": "x", "approval": {"id": "short", "approved": True}}, "approval.id"),
        ({"session_id": "x", "approval": {"id": "approval-1-abc"}}, "approval.approved"),
        ({"session_id": "x", "approval": True}, "approval"),
    ],
)
async def test_a10_a_wrong_click_is_named(sold: Shop, body: Any, param: str) -> None:
    answer = await sold.stage.ask(body)
    assert (answer.status, answer.error["param"]) == (400, param)


async def test_a16_who_takes_up_a_running_answer_gets_its_steps_in_their_place(sold: Shop) -> None:
    visitor, mine = sold.visitor(), new_id()
    sold.shop.delay = 1.0
    try:
        body = {"message": "Where is order 5?", "client_message_id": mine, "steps": True}
        async with client() as browser:
            url = f"{sold.stage.url}/api/chat"
            async with browser.stream("POST", url, json=body) as response:
                visitor.session_id = response.headers["X-Session-Id"]
                visitor.token = response.headers["X-Session-Token"]
                async for line in response.aiter_lines():
                    if "input-available" in line:
                        break
        answer = await taken_up(visitor, mine, steps=True)
    finally:
        sold.shop.delay = 0.0
    kinds = [one["object"] for one in events(answer)]
    assert kinds[:3] == ["chat.completion.chunk", "kefu.step", "kefu.step"]
    assert answer.text.startswith("Let me look.")
    assert answer.complete
    again = await taken_up(visitor, mine, steps=True)
    assert steps_in(events(again)) == [("order_status", "output-available")]
    assert again.text.strip() == answer.text.strip()


async def test_a10_a_card_is_taken_up_too(sold: Shop) -> None:
    visitor, mine = sold.visitor(), new_id()
    card = card_in(events(await visitor.say("Cancel 6", client_message_id=mine, steps=True)))
    again = await taken_up(visitor, mine, steps=True)
    assert card_in(events(again)) == card


async def test_a5_calls_side_by_side_and_the_log_line_names_them(sold: Shop) -> None:
    visitor = sold.visitor()
    answer = await visitor.say("orders 5 and 6", steps=True)
    assert len(steps_in(events(answer))) == 4
    line = await sold.stage.service.logged(tools=["order_status:done", "order_status:done"])
    assert line["steps"] == 2
    assert "12.50" not in json.dumps(line)


async def test_a15_the_export_names_calls_without_their_data(sold: Shop) -> None:
    visitor = sold.visitor()
    await visitor.say("Where is order 5?")
    exported = (await visitor.look("/export")).json()["messages"]
    assert exported[1]["steps"] == [
        {"tool": "order_status", "title": "Looking up your order", "state": "done", "card": ""}
    ]


async def test_a10_no_click_of_an_erased_chat_is_carried_out(sold: Shop) -> None:
    visitor = sold.visitor()
    card = card_in(events(await visitor.say("Cancel 6", steps=True)))
    assert (await visitor.look("", method="DELETE")).status_code == 204
    assert (await click(visitor, card["id"])).status == 404
    assert sold.shop.cancelled["6"] == 0


async def test_a16_v1_uses_reads_and_never_a_write(sold: Shop) -> None:
    def body(text: str, **more: Any) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": text}], **more}

    path = "/v1/chat/completions"
    read = await ask(sold.stage.url, body("Where is order 5?"), path=path)
    said = json.loads(read.raw)["choices"][0]
    assert '"state":"paid"' in said["message"]["content"]
    assert (said["finish_reason"], "tool_calls" in said["message"]) == ("stop", False)
    wrote = await ask(sold.stage.url, body("Cancel 5", stream=True), path=path)
    assert "No tool" not in wrote.text
    assert sold.shop.cancelled["5"] == 0


async def test_a8_a_conversation_that_is_not_stored_has_reads_too(sold: Shop) -> None:
    body = {"messages": [{"role": "user", "content": "Where is order 5?"}], "steps": True}
    answer = await sold.stage.ask(body)
    assert steps_in(events(answer))[-1] == ("order_status", "output-available")
    assert sold.shop.requests[-1].path == "/orders/5"


async def test_a7_errors_of_the_shop_are_results_and_the_chat_goes_on(sold: Shop) -> None:
    visitor = sold.visitor()
    for fault in ("500_before", "html", "bad_json", "redirect"):
        sold.shop.fail(fault)
        answer = await visitor.say("Where is order 5?", steps=True)
        assert answer.complete
        assert steps_in(events(answer))[-1] == ("order_status", "output-error"), fault
        assert "canary" not in answer.text


async def test_a20_a_slow_tool_holds_nobody_else(sold: Shop) -> None:
    slow, quick = sold.visitor(), sold.visitor()
    sold.shop.delay = 1.5
    try:
        waiting = asyncio.create_task(slow.say("Where is order 5?"))
        await asyncio.sleep(0.3)
        answer = await asyncio.wait_for(quick.say("hello"), 1.0)
        assert answer.complete
        assert not waiting.done()
        assert (await waiting).complete
    finally:
        sold.shop.delay = 0.0


def test_a3_a_wrong_table_ends_the_start_with_file_and_line(tmp_path: Path) -> None:
    from kefu.settings import ConfigurationError
    from kefu.settings.loading import load

    config = tmp_path / "kefu.toml"
    table = (
        '[tools.pay]\ndescription = "Pays."\nurl = "https://shop.example/pay"\nmethod = "POST"\n'
    )
    config.write_text(table)
    with pytest.raises(ConfigurationError, match=r"kefu.toml, line 1: .*approve"):
        load({"KEFU_CONFIG": str(config)})


async def test_a4_a_preset_chooses_its_tools_and_without_a_choice_has_all(tmp_path: Path) -> None:
    presets = """
[presets.sales]
system_prompt = "You sell."
tools = ["order_status"]
[presets.silent]
tools = []
[presets.all]
system_prompt = "You do all."
"""
    config = tmp_path / "kefu.toml"
    config.write_text(CONFIG.format(shop="http://127.0.0.1:1") + presets, encoding="utf-8")
    environment = {"SHOP_TOKEN": SECRET}
    with stage(1, **FAST, config=str(config), store=STORE, environment=environment) as running:
        running.script(Choosing())
        for preset in ("sales", "silent", "all", None):
            chosen: dict[str, Any] = {"config_id": preset} if preset else {}
            assert (await Visitor(running).say("Hello", **chosen)).complete
        offered = [
            [one["function"]["name"] for one in exchange.body.get("tools", [])]
            for exchange in running.upstream.journal
        ]
    both = ["order_status", "cancel_order"]
    assert offered == [["order_status"], [], both, both]
