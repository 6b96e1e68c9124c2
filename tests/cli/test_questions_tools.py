"""A17: `kefu test` checks the calls of tools, gives their results, and answers cards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Kefu
from tests.fakes.behaviours import Exchange, answer
from tests.fakes.choosing import Choosing, calling, rule
from tests.fakes.service import Service
from tests.fakes.tool_shop import MY_ORDERS, USER_SECRET, ToolShop, order_tools
from tests.fakes.upstream import ScriptedUpstream
from tests.unit.docs.pages import blocks

ADMIN_TOKEN = "a-token-of-the-operator-for-these-tests"

TABLES = order_tools(
    '{{ en = "Cancel order {{order_id}}? {{items}} items", zh = "取消订单 {{order_id}}？" }}'
)

BOOK = """
[tools.book]
url = "https://shop.example/bookings"
description = "Books a table."
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
    kefu: Kefu, questions: Path, shop: ToolShop, folder: Path
) -> None:
    questions.write_text(CASES)
    ran = kefu("test", "questions.yaml", "--steps", "--junit", "j.xml")
    assert ran.code == 0, ran
    assert "6 passed, 0 failed" in ran.out
    assert shop.requests == []
    assert '         call: order_status {"order_id": "5"}, done: {"state":"given-state"' in ran.out
    assert "turn 2: card: Cancel order 5? 2 items (yes)" in ran.out
    assert "card: Cancel order 5? 2 items (no)" in ran.out
    cases = ElementTree.parse(folder / "j.xml").getroot()[0]
    told = {one.attrib["name"]: one.findtext("system-out") for one in cases}
    assert told["fails"] == 'call: order_status {"order_id": "9"}, failed: The shop is closed.'


@pytest.mark.slow
def test_a_call_without_a_result_fails_its_case_and_is_sent_nowhere(
    kefu: Kefu, questions: Path, shop: ToolShop
) -> None:
    """Neither reads, nor approved writes, nor the reads of a card."""
    questions.write_text(
        "- {name: read, ask: Where is order 5}\n"
        "- {name: preview, ask: Please cancel order 5, expect: {card: false}}\n"
        "- name: write\n"
        "  ask: Please cancel order 5\n"
        "  results: {order_status: {items: 2}}\n"
        "  approve: true\n"
    )
    ran = kefu("test", "questions.yaml", "--markdown", "m.md")
    assert (ran.code, shop.requests) == (1, [])
    says = "was called, and the file gives no result for it, so nothing was sent"
    assert ran.out.count(f"order_status: {says}") == 2
    assert ran.out.count(f"cancel_order: {says}") == 1
    assert "0 passed, 3 failed" in ran.out
    table = (questions.parent / "m.md").read_text()
    assert "<br>call: cancel\\_order" in table.replace('{"', "")


def test_live_tools_send_what_the_file_has_no_result_for(
    kefu: Kefu, questions: Path, shop: ToolShop
) -> None:
    questions.write_text(
        "- name: given\n"
        "  ask: Where is order 6?\n"
        "  results: {order_status: given-state}\n"
        "  expect: {contains: given-state}\n"
        "- name: real\n"
        "  ask: Please cancel order 5\n"
        "  approve: true\n"
        "  expect: {card: 'Cancel order 5? 2 items', contains: cancelled}\n"
    )
    ran = kefu("test", "questions.yaml", "--live-tools")
    assert ran.code == 0, ran
    sent = [(one.method, one.path) for one in shop.requests]
    assert sent == [("GET", "/orders/5"), ("POST", "/orders/5/cancel")]
    assert shop.cancelled == {"5": 1}


LIVE = """\
- name: results
  ask: Where is order 5?
  results: {order_status: given-state}
  expect: {contains: paid}
- name: yes
  ask: Please cancel order 5
  approve: true
  expect: {contains: cancelled}
- name: no
  ask: Please cancel order 5
  approve: false
  expect: {card: Cancel order 5}
- name: arguments
  ask: Where is order 6?
  expect: {contains: sent, called: {order_status: {order_id: 6}}}
- name: every
  ask: Where is order 6?
  errors: {"*": away}
  expect: {contains: sent}
"""


def test_a_running_service_is_changed_with_live_tools_alone(
    kefu: Kefu,
    questions: Path,
    shop: ToolShop,
    upstream: ScriptedUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What needs the file's results, or says yes to a card, is skipped without the option.

    A result for every tool does not make a case need it.
    """
    questions.write_text(LIVE)
    more = {"KEFU_CONFIG": str(questions.with_name("kefu.toml")), "ADMIN_TOKEN": ADMIN_TOKEN}
    with Service(upstream.base_url, sessions="true", environment=more) as running:
        asked = ("test", "questions.yaml", "--jobs", "1", "--server", running.url)
        ran = kefu(*asked)
        assert ran.code == 1
        assert "2 skipped" in ran.out
        assert "set ADMIN_TOKEN" in ran.out
        assert "SKIP      0.0 s  yes\n         a running service calls its own tools:" in ran.out

        monkeypatch.setenv("ADMIN_TOKEN", ADMIN_TOKEN)
        ran = kefu(*asked, "--junit", "j.xml")
        assert ran.code == 0, ran
        assert "3 passed, 0 failed, 2 skipped" in ran.out
        suite = ElementTree.parse(questions.with_name("j.xml")).getroot()[0]
        assert (suite.attrib["tests"], suite.attrib["skipped"]) == ("5", "2")
        assert {one.method for one in shop.requests} == {"GET"}

        ran = kefu(*asked, "--live-tools")
        assert (ran.code, shop.cancelled) == (0, {"5": 1}), ran


@pytest.mark.slow
def test_a_model_that_asks_without_end_is_answered_three_times(
    kefu: Kefu, questions: Path, upstream: ScriptedUpstream
) -> None:
    numbers = count(1)

    async def cancels(exchange: Exchange) -> None:
        await calling(("cancel_order", {"order_id": str(next(numbers))}))(exchange)

    upstream.script("*", cancels)
    questions.write_text(
        "- name: all\n"
        "  ask: Cancel everything\n"
        "  results: {order_status: {items: 2}, cancel_order: done}\n"
        "  approve: true\n"
    )
    ran = kefu("test", "questions.yaml")
    assert ran.code == 1
    assert "approve: it showed card after card; the one after 3 answers has none" in ran.out
    assert "card: Cancel order 3? 2 items (yes)" in ran.out
    assert "card: Cancel order 4? 2 items (no answer)" in ran.out


def test_a_case_is_asked_as_a_signed_in_user(
    kefu: Kefu,
    questions: Path,
    shop: ToolShop,
    upstream: ScriptedUpstream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shop checks the token that the service signs for it."""
    questions.with_name("kefu.toml").write_text(MY_ORDERS.format(shop=shop.url))
    upstream.script("*", Choosing(rule("orders", "my_orders")))
    questions.write_text(
        "- {ask: My orders, user: ada, expect: {called: my_orders, contains: 89.00 EUR}}\n"
        "- {name: nobody, ask: My orders, expect: {called: false}}\n"
    )
    monkeypatch.setenv("KEFU_IDENTITY_SECRETS", USER_SECRET)
    ran = kefu("test", "questions.yaml", "--live-tools")
    assert ran.code == 0, ran
    questions.with_name("kefu.toml").unlink()
    monkeypatch.delenv("KEFU_IDENTITY_SECRETS")
    ran = kefu("test", "questions.yaml", "--only", "My")
    assert ran.code == 2
    assert "My orders: user: needs KEFU_IDENTITY_SECRETS" in ran.err


@pytest.mark.slow
def test_a_simulated_visitor_clicks_on_the_card_of_any_of_its_messages(
    kefu: Kefu, questions: Path, upstream: ScriptedUpstream
) -> None:
    questions.write_text(
        "- ask: Hello\n"
        "  visitor: {persona: A buyer., goal: Cancel order 5., turns: 2}\n"
        "  results: {order_status: {items: 2}, cancel_order: Cancelled by the file.}\n"
        "  approve: true\n"
        "  expect: {card: Cancel order 5, contains: Cancelled by the file., not_called: book}\n"
    )
    with questions.with_name("kefu.toml").open("a") as file:
        file.write(f"{BOOK}\n")
    upstream.script("*", answer("Please cancel order 5"), asking="<persona>")
    ran = kefu("test", "questions.yaml")
    assert ran.code == 0, ran
    upstream.script("*", answer("Thanks"), asking="<persona>")
    ran = kefu("test", "questions.yaml")
    assert ran.code == 1
    assert "\n         approve: it showed no card\n" in ran.out


@pytest.mark.slow
def test_the_example_of_the_page_passes_and_is_reported_as_printed(
    kefu: Kefu, folder: Path, upstream: ScriptedUpstream
) -> None:
    page = Path(__file__).parents[2] / "docs" / "testing-tools.md"
    (tables,), (cases,), (report,) = (blocks(page, one) for one in ("toml", "yaml", "text"))
    (folder / "kefu.toml").write_text(tables)
    (folder / "questions.yaml").write_text(cases)
    upstream.script(
        "*",
        Choosing(
            rule(r"cancel my order (\d+)", "cancel_order", order_id=r"\1"),
            rule(r"order (\d+)", "order_status", order_id=r"\1"),
        ),
    )
    ran = kefu("test", "questions.yaml", "--steps")
    assert ran.code == 0, ran
    timed = re.compile(r"\d+\.\d s")
    assert timed.sub("s", report) in timed.sub("s", ran.out)


WRONG = {
    "- {ask: a, results: {order_statsu: x}}": "results: order_statsu is not a tool. Did you mean",
    "- {ask: a, expect: {called: stock}}": "a: called: stock is not a tool. There are order_status",
    "- {ask: a, expect: {not_called: stock}}": "a: not_called: stock is not a tool.",
    "- {ask: a, approve: {cancel: yes}}": "a: approve: cancel is not a tool.",
    "- {ask: a, results: {search_pages: x}}": "search_pages is Kefu's own tool, and runs in tests",
    "- ask: a\n  expect:\n    caled: x": "questions.yaml: line 3: case 1, turn 1: expect: caled is",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_name_is_found_before_a_question_is_paid_for(
    text: str, kefu: Kefu, questions: Path, upstream: ScriptedUpstream
) -> None:
    with questions.with_name("kefu.toml").open("a") as file:
        file.write("[tools.search_pages]\n")
    questions.write_text(text)
    ran = kefu("test", "questions.yaml")
    assert (ran.code, upstream.journal) == (2, [])
    assert WRONG[text] in ran.err
