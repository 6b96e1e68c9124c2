"""`make run` without a key: an order is looked up, and cancelled by the visitor's click."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kefu.bootstrap.learn import Options, learn
from tests.fakes.asking import Answer, ask
from tests.fakes.browser import told_by
from tests.fakes.service import Service
from tests.web.test_sample_site import SAMPLE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    file = tmp_path / "sample.kefu"
    learn([str(SAMPLE)], Options(file, "/sample"), lambda _: None)
    config = {"KEFU_CONFIG": str(ROOT / "sample/kefu.toml"), "KEFU_KNOWLEDGE": str(file)}
    return Service(upstream=None, keys=(), allowed_origins="", environment=config)


class Visit:
    """A visitor with a stored chat."""

    def __init__(self, url: str, language: str) -> None:
        self._url = url
        self._headers = {"Accept-Language": language}
        self._body: dict[str, object] = {"steps": True}

    async def ask(self, **body: object) -> Answer:
        answer = await ask(self._url, {**self._body, **body}, headers=self._headers)
        assert answer.complete, answer.raw
        self._body["session_id"] = answer.headers["x-session-id"]
        self._headers["X-Session-Token"] = answer.headers["x-session-token"]
        return answer


def steps(answer: Answer) -> list[tuple[str, str]]:
    found = (one["step"] for one in answer.chunks if one.get("object") == "kefu.step")
    return [(one["title"], one["state"]) for one in found]


def card(answer: Answer) -> dict[str, Any]:
    [found] = [one["approval"] for one in answer.chunks if one.get("object") == "kefu.approval"]
    return dict(found)


DIALOGUES = {
    "en": (
        ("Where is my order 1001?", "Order 1001 is packed (items: 2, total: 89.00 EUR"),
        ("Cancel it", "Cancel order 1001? 2 items, 89.00 EUR"),
        "Order 1001 is cancelled",
        ("Looking up your order", "Cancelling your order"),
    ),
    "zh-CN": (
        ("我的订单 1001 在哪里？", "订单 1001 已打包（件数：2，总额：89.00 EUR"),
        ("取消", "取消订单 1001？2 件，89.00 EUR"),
        "订单 1001 已取消",
        ("正在查询订单", "正在取消订单"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", DIALOGUES)
async def test_an_order_is_looked_up_and_cancelled_by_one_click(
    service: Service, language: str
) -> None:
    """A9, A10, A14: a step, a card with the shop's facts, and one click."""
    (question, told), (wish, asked), done, (looking, cancelling) = DIALOGUES[language]
    with service:
        visit = Visit(service.url, language)
        first = await visit.ask(message=question)
        assert told in first.text
        assert steps(first) == [(looking, "input-available"), (looking, "output-available")]

        second = await visit.ask(message=wish)
        assert steps(second)[-1] == (cancelling, "approval-requested")
        shown = card(second)
        assert shown["text"].translate({0x2068: None, 0x2069: None}) == asked
        still = await Visit(service.url, language).ask(message=question)
        assert told in still.text  # nothing happened before the click

        click = {"approval": {"id": shown["id"], "approved": True}}
        clicked = await visit.ask(**click)
        assert done in clicked.text
        assert steps(clicked) == [(cancelling, "input-available"), (cancelling, "output-available")]
        assert (await visit.ask(**click)).text == clicked.text
        again = await visit.ask(message=wish)
        assert done in again.text
        assert "approval-requested" not in dict(steps(again)).values()


@pytest.mark.slow
async def test_a_no_changes_nothing(service: Service) -> None:
    with service:
        visit = Visit(service.url, "en")
        shown = card(await visit.ask(message="Cancel order 1001"))
        await visit.ask(approval={"id": shown["id"], "approved": False})
        assert "packed" in (await visit.ask(message="Where is order 1001?")).text
        assert "on its way" in (await visit.ask(message="Cancel order 1002")).text
        assert "no such order" in (await visit.ask(message="Where is order 9999?")).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "done"),
    [("en-US", "Order 1001 is cancelled"), ("zh-CN", "订单 1001 已取消")],
)
def test_a_newcomer_clicks_in_the_widget(service: Service, locale: str, done: str) -> None:
    """In Chromium: the suggested questions of the demo page, and a click on the card."""
    with service:
        seen = told_by(Path(__file__).with_name("sample_shop.mjs"), service.url, locale)
    assert seen["errors"] == []
    assert "1001" in seen["card"]
    assert "89.00 EUR" in seen["card"]
    assert done in seen["answer"]


@pytest.mark.parametrize("own", ["kefu.toml", "site.kefu", "KEFU_CONFIG", "KEFU_KNOWLEDGE", ""])
def test_settings_and_pages_of_ones_own_replace_the_sample(tmp_path: Path, own: str) -> None:
    """The recipe of `make run`, whose last command prints its environment."""
    recipe = subprocess.run(
        ["make", "--no-print-directory", "-n", "-o", "build/sample.kefu", "run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    command = recipe[recipe.index("test -f kefu.toml") :]
    start = command.index("exec ")
    given = {own: "mine"} if own.isupper() else {}
    if own and not given:
        (tmp_path / own).touch()
    shown = subprocess.run(
        ["sh", "-c", f'{command[:start]} exec sh -c "env"'],
        cwd=tmp_path,
        env={"PATH": os.defpath, **given},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = dict(line.split("=", 1) for line in shown.splitlines() if line.startswith("KEFU_"))
    assert found == (given if own else {"KEFU_CONFIG": "sample/kefu.toml"}), json.dumps(found)
