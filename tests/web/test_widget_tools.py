"""A9, A10, A14 in Chromium: the widget, the service with its store, and a shop on a socket."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import jwt
import pytest

from tests.fakes.behaviours import Stream
from tests.fakes.browser import told_by
from tests.fakes.chatting import FILE, STORE
from tests.fakes.choosing import Choosing, Rule, rule
from tests.fakes.stage import FAST, Stage, stage
from tests.fakes.tool_shop import USER_SECRET, ShopRequest, ToolShop
from tests.parts.plugin import slow
from tests.web.test_contact import TOKEN

SCRIPT = Path(__file__).with_name("widget_tools.mjs")
CONFIG = """
[contact]
form = ["email", "message"]

[tools.ask_person]

[tools.order_status]
url = "{shop}/orders/{{order_id}}"
description = "State of an order."
title = {{ en = "Looking up your order", zh = "正在查询订单", ar = "البحث عن طلبك" }}
parameters.order_id = {{ type = "string" }}

[tools.my_orders]
url = "{shop}/customers/{{customer}}/orders"
description = "All orders of the visitor."
title = "Looking up your orders"
user = "required"
bind = {{ customer = "user.sub" }}
parameters.customer = {{ type = "string" }}

[tools.cancel_order]
url = "{shop}/orders/{{order_id}}/cancel"
method = "POST"
description = "Cancels an order."
title = {{ en = "Cancelling your order", zh = "正在取消订单", ar = "إلغاء طلبك" }}
preview = "order_status"
parameters.order_id = {{ type = "string" }}

[tools.cancel_order.approve]
en = "Cancel order {{order_id}} ({{items}} items, {{total}})?"
zh = "取消订单 {{order_id}}（{{items}} 件，{{total}}）？"
ar = "إلغاء الطلب {{order_id}} ({{items}} منتجات، {{total}})؟"
"""
CARD = "Cancel order {} (2 items, 89.00 EUR)?"
ISOLATES = dict.fromkeys(range(0x2066, 0x206A))
SECONDS = 2.5
"""Time that the shop takes for an order whose number begins with `slow`."""
RULES = (
    rule(r"(?:Where is.*order|订单|طلبي) ([\w-]+)", "order_status", order_id=r"\1"),
    Rule(
        r"Please cancel order ([\w-]+)",
        lambda found: [(name, {"order_id": found[1]}) for name in ("order_status", "cancel_order")],
        "I can cancel it.",
    ),
    rule(r"(?:Cancel|取消|إلغاء).* ([\w-]+)$", "cancel_order", order_id=r"\1"),
    rule(r"Which orders", "my_orders"),
    rule(r"a person", "ask_person", summary="Order A-1 is lost."),
)
EVENTS = 8
"""Of the answers that are cut off: with fewer events, nothing would be cut."""
LOST = "This is no longer possible."


class SlowShop(ToolShop):
    def answer(self, request: ShopRequest) -> tuple[int, Any]:
        if "/slow" in request.path:
            time.sleep(SECONDS)
        return super().answer(request)


class Following(Choosing):
    """Knows which order `it` is."""

    def _stream(self, body: Mapping[str, Any]) -> Stream:
        *before, last = body["messages"]
        if last["role"] == "user" and re.search(r"\bit$|^取消$|^إلغاء$", last["content"]):
            asked = " ".join(str(one["content"]) for one in before if one["role"] == "user")
            number = re.findall(r"(?:slow-)?A-\w+", asked)[-1]
            last = {**last, "content": f"{last['content']} {number}"}
        return super()._stream({**body, "messages": [*before, last]})


class Sold(NamedTuple):
    stage: Stage
    shop: SlowShop

    def visits(self, *given: dict[str, Any]) -> Sequence[dict[str, Any]]:
        """What these visitors saw, each with an order of their own; nothing turns at the end."""
        row = {"customer": "ada", "state": "paid", "items": 2, "total": "89.00 EUR"}
        for one in given:
            if "order" in one:
                self.shop.orders.setdefault(one["order"], {"id": one["order"], **row})
        told = told_by(SCRIPT, self.stage.url, json.dumps(given), timeout=400)
        seen: Sequence[dict[str, Any]] = told["seen"]
        for one, asked in zip(seen, given, strict=True):
            assert (asked, one.pop("errors")) == (asked, [])
            last = one.get("bare") or one["seen"]
            assert (asked, last["turning"], last["waiting"]) == (asked, 0, 0)
        return seen

    def visit(self, visit: str, **given: Any) -> dict[str, Any]:
        [seen] = self.visits({"visit": visit, **given})
        return seen

    def expire(self, session: str) -> None:
        """Let eleven minutes pass for the cards of a chat."""
        with closing(sqlite3.connect(self.stage.service.folder / FILE)) as database, database:
            asked = "SELECT question_id, steps FROM turns WHERE session = ? AND steps != ''"
            for id, steps in database.execute(asked, [session]).fetchall():
                uses = json.loads(steps)
                for use in uses:
                    use["expires"] = use.get("expires", 660) - 660
                changed = "UPDATE turns SET steps = ? WHERE session = ? AND question_id = ?"
                database.execute(changed, [json.dumps(uses), session, id])


@pytest.fixture(scope="module")
def sold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sold]:
    with SlowShop() as shop:
        config = tmp_path_factory.mktemp("tools") / "kefu.toml"
        config.write_text(CONFIG.format(shop=shop.url), encoding="utf-8")
        given: dict[str, Any] = {
            "config": str(config),
            "store": STORE,
            "identity_secrets": USER_SECRET,
        }
        environment = {"ADMIN_TOKEN": TOKEN}
        with stage(20, **FAST, **given, environment=environment) as running:
            running.script(Following(*RULES))
            yield Sold(running, shop)


STORIES = {
    "en": ("Where is my order {}?", "Cancel it", "Looking up your order", CARD, "Done"),
    "zh-CN": (
        "我的订单 {} 在哪里？",
        "取消",
        "正在查询订单",
        "取消订单 {}（2 件，89.00 EUR）？",
        "已完成",
    ),
    "ar": (
        "أين طلبي {} ؟",
        "إلغاء",
        "البحث عن طلبك",
        "إلغاء الطلب {} (2 منتجات، 89.00 EUR)؟",
        "تم ذلك",
    ),
}


def token(user: str) -> str:
    claims = {"sub": user, "aud": "kefu", "exp": int(time.time()) + 600}
    return jwt.encode(claims, USER_SECRET, "HS256")


def plain(told: Mapping[str, Any]) -> dict[str, Any]:
    """The texts of a visit without marks of text direction."""
    found: dict[str, Any] = json.loads(json.dumps(told, ensure_ascii=False).translate(ISOLATES))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "device", "theme"),
    [
        ("en", "desktop", "light"),
        slow("en", "phone", "dark"),
        slow("zh-CN", "desktop", "dark"),
        slow("zh-CN", "phone", "light"),
        slow("ar", "phone", "dark"),
    ],
)
def test_a9_a14_an_order_is_looked_up_and_cancelled_by_one_click(
    sold: Sold, lang: str, device: str, theme: str
) -> None:
    order = f"slow-A-{lang[0]}{device[0]}{theme[0]}"
    where, wish, title, card, done = STORIES[lang]
    looks = {"lang": lang, "device": device, "theme": theme}
    seen = plain(sold.visit("story", order=order, where=where.format(order), wish=wish, **looks))
    asked, last = card.format(order), seen["seen"]
    assert sold.shop.cancelled[order] == 1
    assert (seen["running"]["steps"], seen["running"]["turning"]) == ([f"{title}…"], 1)
    assert seen["looked"]["steps"] == [f"{title}{done}"]
    # Without words of the model, the card stands alone.
    assert (seen["asked"]["cards"], len(seen["asked"]["answers"])) == ([asked], 1)
    assert (seen["asked"]["states"], seen["asked"]["buttons"]) == (["asked"], 2)
    assert (last["states"], last["feet"], last["buttons"]) == (["done"], [done], 0)
    assert last["questions"] == [where.format(order), wish, f"✓ {asked}"]
    assert '"state":"cancelled"' in last["answers"][-1]
    assert seen["isAtRight"] == (lang == "ar")
    assert (seen["wrong"], seen["overflow"]) == ([], 0)


@pytest.mark.slow
def test_a10_what_is_no_yes_changes_nothing(sold: Sold) -> None:
    """A no, another message, a late click: the card says so, also after a reload.

    Every day test_tools.py asks the service, and tools.test.ts the widget.
    """
    no, other, late, first, second = sold.visits(
        {"visit": "no", "order": "A-no"},
        {"visit": "other", "order": "A-other"},
        {"visit": "late", "order": "A-late"},
        {"visit": "ask", "order": "A-first"},
        {"visit": "ask", "order": "A-second"},
    )
    for told in (no, other):
        assert told["seen"]["states"] == ["declined"]
        assert told["seen"]["feet"] == ["Not done. Nothing was changed."]
        assert told["seen"] == told["reloaded"] == told["bare"]
        assert told["seen"]["buttons"] == 0
    assert late["seen"]["feet"] == ["This question has expired. Please ask again."]
    assert late["seen"]["buttons"] == 0
    assert late["after"]["states"] == ["expired"]
    for one in (first, second):
        sold.expire(one["stored"]["session"])
    expired, clicked = sold.visits(
        {"visit": "expired", "storage": json.dumps(first["stored"])},
        {"visit": "tooLate", "deaf": True, "storage": json.dumps(second["stored"])},
    )
    assert expired["seen"]["feet"] == ["This question has expired. Please ask again."]
    assert expired["seen"] == expired["reloaded"] == expired["bare"]
    assert clicked["seen"]["feet"] == [LOST]
    assert "expired" in clicked["seen"]["answers"][-1]
    assert clicked["wrong"] == []
    for number in ("no", "other", "late", "first", "second"):
        assert sold.shop.cancelled[f"A-{number}"] == 0


@pytest.mark.slow
def test_a10_a14_every_state_is_there_again_after_a_reload(sold: Sold) -> None:
    """Every day tools.test.ts asks the widget, and test_tools.py the service."""
    sold.shop.orders["A-failed"] = {**sold.shop.orders["6"], "id": "A-failed"}
    sold.shop.fail("reset_after", path="A-unsure/cancel")
    sold.shop.fail("silent", path="A-silent/cancel")
    running, working, lost, waiting, done, failed, unsure = sold.visits(
        {"visit": "running", "order": "slow-A-running"},
        {"visit": "working", "order": "slow-A-working", "state": "done"},
        {"visit": "working", "order": "A-silent", "state": "unsure"},
        {"visit": "waiting", "order": "A-waiting"},
        {"visit": "clicked", "order": "A-done", "state": "done"},
        {"visit": "clicked", "order": "A-failed", "state": "failed"},
        {"visit": "clicked", "order": "A-unsure", "state": "unsure"},
    )
    for told in (running, working, lost, waiting, done, failed, unsure):
        assert told["seen"] == told["reloaded"] == told["bare"]
    assert (running["again"]["steps"], running["again"]["turning"]) == (
        ["Looking up your order…"],
        1,
    )
    for told in (working, lost):
        assert told["again"]["feet"] == ["Working on it…"]
        assert told["again"]["turning"] == 2
    assert waiting["bare"]["buttons"] == 2
    assert waiting["done"]["states"] == ["done"]
    for number in ("slow-A-working", "A-silent", "A-waiting", "A-done", "A-unsure"):
        assert (number, sold.shop.cancelled[number]) == (number, 1)
    assert sold.shop.cancelled["A-failed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("pace", ["", "slow-"])
def test_a10_a14_a_line_that_is_cut_at_any_event_loses_and_doubles_nothing(
    sold: Sold, pace: str
) -> None:
    """`pace`: whether the service has ended the answer when the widget comes back."""
    asking: list[dict[str, Any]] = [
        {"visit": "cutAsking", "order": f"{pace}A-a{after}", "after": after}
        for after in range(EVENTS + 1)
    ]
    clicks: list[dict[str, Any]] = [
        {"visit": "cutClick", "order": f"{pace}A-c{after}", "after": after}
        for after in range(EVENTS + 1)
    ]
    seen = [plain(one) for one in sold.visits(*asking, *clicks)]
    # The last answer of each kind came whole.
    assert [told["isCut"] for told in seen] == [*[True] * EVENTS, False] * 2
    # Without a byte of an answer, the visitor may have to click on Retry.
    begun = [
        told["posts"]
        for told, given in zip(seen, [*asking, *clicks], strict=True)
        if given["after"]
    ]
    assert begun == [2] * 2 * EVENTS
    for told, given in zip(seen, asking, strict=False):
        order = given["order"]
        assert (order, told["seen"]["states"]) == (order, ["asked"])
        assert told["seen"]["cards"] == [CARD.format(order)]
        assert told["seen"]["questions"] == ["hello", f"Please cancel order {order}"]
        assert told["seen"]["answers"][1:] == ["I can cancel it."]
        assert told["seen"]["steps"] == ["Looking up your orderDone"]
        assert told["seen"]["troubles"] == []
        assert (order, sold.shop.cancelled[order]) == (order, 0)
    for told, given in zip(seen[len(asking) :], clicks, strict=True):
        order = given["order"]
        assert (order, told["seen"]["states"]) == (order, ["done"])
        assert len(told["seen"]["questions"]) == 2
        assert len(told["seen"]["answers"]) == 1
        assert told["seen"]["troubles"] == []
        assert (order, sold.shop.cancelled[order]) == (order, 1)


@pytest.mark.slow
def test_a10_two_tabs_cancel_once(sold: Sold) -> None:
    cases: list[dict[str, Any]] = [
        {"visit": "tabs", "order": f"{order}-{yes}{no}", "clicks": [yes, no], "together": together}
        for order, yes, no, together in (
            ("A-turns", "yes", "yes", False),
            ("A-turns", "yes", "no", False),
            ("slow-A-both", "yes", "yes", True),
            ("slow-A-both", "yes", "no", True),
        )
    ]
    for told, given in zip(sold.visits(*cases), cases, strict=True):
        order = given["order"]
        assert (order, sold.shop.cancelled[order]) == (order, 1)
        for seen in (told["seen"], told["theirs"]):
            assert (order, seen["states"], seen["feet"]) == (order, ["done"], ["Done"])
            assert seen["troubles"] == []
            assert '"state":"cancelled"' in seen["answers"][-1]


def test_a10_a_click_after_a_message_in_another_tab_is_refused(sold: Sold) -> None:
    seen = sold.visit("stale", order="A-stale")["seen"]
    assert seen["feet"] == [LOST]
    assert seen["answers"][-1] == "You wrote another message since, so nothing was changed."
    assert sold.shop.cancelled["A-stale"] == 0


@pytest.mark.slow
def test_a10_a_person_takes_over_while_the_card_waits(sold: Sold) -> None:
    seen = sold.visit("person", order="A-person", token=TOKEN, contact=True)
    assert sold.shop.cancelled["A-person"] == 0
    assert seen["seen"]["feet"] == [LOST]
    assert "A person answers this chat now" in seen["seen"]["answers"][-1]
    assert seen["reloaded"] == seen["seen"]
    assert seen["bare"]["feet"] == ["This question has expired. Please ask again."]


@pytest.mark.slow
def test_a12_signed_in_visitors_alone_have_their_orders(sold: Sold) -> None:
    ada = sold.visit("orders", user=token("ada"))["seen"]
    bob = sold.visit("orders", user=token("bob"))["seen"]
    nobody = sold.visit("orders")["seen"]
    assert "89.00 EUR" in ada["answers"][-1]
    assert ada["steps"] == ["Looking up your ordersDone"]
    assert "40.00 EUR" in bob["answers"][-1]
    assert "89.00 EUR" not in bob["answers"][-1]
    assert "EUR" not in nobody["answers"][-1]
    # The model's word for a tool that there is not stands nowhere.
    assert nobody["steps"] == []


def test_a2_asking_for_a_person_opens_the_form_with_a_summary(sold: Sold) -> None:
    seen = sold.visit("form", contact=True)
    assert seen["summary"].startswith("Order A-1 is lost.")
    assert seen["seen"]["steps"] == []
