"""A17: `kefu test` checks the calls of tools, gives their results, and answers cards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Kefu
from tests.fakes.choosing import Choosing, rule
from tests.fakes.service import Service
from tests.fakes.tool_shop import ToolShop
from tests.fakes.upstream import ScriptedUpstream

TABLES = """\
[tools.order_status]
url = "{shop}/orders/{{order_id}}"
description = "State of an order."
[tools.order_status.parameters]
order_id = {{ type = "string" }}

[tools.cancel_order]
url = "{shop}/orders/{{order_id}}/cancel"
method = "POST"
description = "Cancels an order."
approve = {{ en = "Cancel order {{order_id}}? {{items}} items", zh = "取消订单 {{order_id}}？" }}
preview = "order_status"
[tools.cancel_order.parameters]
order_id = {{ type = "string" }}
"""

CASES = """\
- name: look up
  ask: Where is order 5?
  results: {order_status: {state: given-state, items: 2}}
  expect: {contains: given-state, called: {order_status: {order_id: 5}}, not_called: cancel_order}
- name: cancel
  results: {order_status: {items: 2}, cancel_order: Cancelled by the file.}
  turns:
    - ask: Hello
      expect: {called: false, card: false}
    - ask: Please cancel order 5
      approve: true
      expect:
        card: Cancel order 5? 2 items
        contains: Cancelled by the file.
        called: {cancel_order: {order_id: "5"}}
- name: no
  ask: Please cancel order 5
  results: {order_status: {items: 2}}
  approve: {cancel_order: false}
  expect: {card: true, contains: nothing was changed}
- name: fails
  ask: Where is order 9?
  errors: {order_status: The shop is closed.}
  expect: {contains: shop is closed}
- name: unsure
  ask: Please cancel order 5
  results: {order_status: {items: 2}}
  unsure: {cancel_order: No response within 10 s.}
  approve: true
  expect: {contains: No response}
- name: 中文
  ask: Please cancel order 5
  results: {order_status: {items: 2}, cancel_order: 订单已经取消。}
  approve: true
  expect: {card: 取消订单 5, contains: 已经取消, language: zh}
"""


@pytest.fixture
def shop() -> Iterator[ToolShop]:
    with ToolShop() as running:
        yield running


@pytest.fixture
def questions(folder: Path, shop: ToolShop, upstream: ScriptedUpstream) -> Path:
    """The path of the questions, beside settings with tools and a model that chooses them."""
    (folder / "kefu.toml").write_text(TABLES.format(shop=shop.url))
    upstream.script(
        "*",
        Choosing(
            rule(r"[Cc]ancel order (\d+)", "cancel_order", order_id=r"\1"),
            rule(r"order (\d+)", "order_status", order_id=r"\1"),
        ),
    )
    return folder / "questions.yaml"


def test_a_file_gives_results_and_answers_cards_without_a_shop(
    kefu: Kefu, questions: Path, shop: ToolShop
) -> None:
    questions.write_text(CASES)
    ran = kefu("test", "questions.yaml", "--steps", "--junit", "j.xml")
    print(ran.out)
    assert ran.code == 0, ran
