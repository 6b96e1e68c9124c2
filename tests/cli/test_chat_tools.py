"""A18: the tools of kefu.toml in `kefu chat`, with a shop on its socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Kefu, logged
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.fakes.behaviours import answer
from tests.fakes.tool_shop import MY_ORDERS, ToolShop, order_tools
from tests.fakes.upstream import ScriptedUpstream

CTRL_C, CTRL_D = "\x03", "\x04"
TABLES = (
    order_tools(
        '"Cancel order {{order_id}}? {{items}} items, {{total}}"',
        status='headers = {{ X-Shop = "env:SHOP_TOKEN" }}',
    )
    + MY_ORDERS
    + """
[tools.ask_person]

[presets.sales]
model = "small"
tools = ["order_status"]
"""
)


@pytest.fixture
def shop() -> Iterator[ToolShop]:
    with ToolShop() as running:
        yield running


@pytest.fixture(autouse=True)
def tools(
    folder: Path, environment: dict[str, str], shop: ToolShop, upstream: ScriptedUpstream
) -> None:
    """A folder whose kefu.toml has tools, and a model that calls them."""
    environment["SHOP_TOKEN"] = "canary-token-of-the-shop"
    environment["KEFU_IDENTITY_SECRETS"] = "canary-a-secret-that-shop-and-kefu-share"
    environment["KEFU_CONTACT_LINK"] = "https://shop.example/contact"
    (folder / "kefu.toml").write_text(TABLES.format(shop=shop.url))
    status = '<action tool="order_status">5</action>'
    upstream.script("*", answer(status), asking="where is it")
    upstream.script("*", answer("<final>It is paid.</final>"), asking='"state":"paid"')
    cancel = '<action tool="cancel_order">{"order_id": "5"}</action>'
    upstream.script("*", answer(cancel), asking="cancel it")
    upstream.script("*", answer("<final>It is cancelled.</final>"), asking='"cancelled"')
    upstream.script("*", answer("<final>I left it.</final>"), asking="did not allow")


def offered(upstream: ScriptedUpstream) -> str:
    """The system message of the last request."""
    return str(upstream.journal[-1].body["messages"][0]["content"])


def test_a18_a_read_runs_and_a_write_is_not_sent_without_a_terminal(
    kefu: Kefu, upstream: ScriptedUpstream, shop: ToolShop, folder: Path
) -> None:
    ran = kefu("chat", typed="where is it\ncancel it\n")
    assert (ran.code, ran.out) == (0, "It is paid.\nI left it.\n")
    assert "→ order_status 5\n" in ran.err
    assert "kefu: cancel_order was not run: there is no terminal to ask for approval\n" in ran.err
    assert not shop.cancelled
    assert {one.headers["x-shop"] for one in shop.requests} == {"canary-token-of-the-shop"}
    types = [event["type"] for event in logged(folder) if event.get("turn") == 2]
    assert types == [
        *("turn_start", "assistant", "action", "approval", "observation"),
        *("assistant", "final", "turn_end"),
    ]
    assert "canary" not in json.dumps(logged(folder))


def test_a18_the_model_is_told_of_the_tools_that_an_anonymous_visitor_has(
    kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    """Not of those of Kefu itself, which need a site."""
    kefu("chat", "--once", "hello")
    told = offered(upstream)
    assert "- order_status: State of an order. INPUT is JSON: {" in told
    assert "- cancel_order: Cancels an order.\n" in f"{told}\n"
    assert "- read_file: " in told
    assert "my_orders" not in told
    assert "ask_person" not in told


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--tools", "order_status,calculate"], {"order_status", "calculate"}),
        (["--tools", "none"], set()),
        (
            ["--preset", "sales"],
            {"order_status", "read_file", "list_folder", "current_time", "calculate"},
        ),
    ],
)
def test_a18_flags_and_presets_choose_among_the_tools(
    kefu: Kefu, upstream: ScriptedUpstream, arguments: list[str], names: set[str]
) -> None:
    assert kefu("chat", "--once", "--no-log", *arguments, "hello").code == 0
    lines = offered(upstream).splitlines()
    assert {line[2:].partition(":")[0] for line in lines if line.startswith("- ")} - {
        "use a tool",
        "answer",
    } == names


def test_a18_an_unknown_name_gets_the_list_of_both_kinds(kefu: Kefu) -> None:
    ran = kefu("chat", "--once", "--tools", "shell", "hello")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no tool shell; there are: read_file, " in ran.err
    assert ", order_status, cancel_order" in ran.err


def test_a18_a_yes_sends_a_write_a_no_does_not_and_ctrl_c_tells_of_the_doubt(
    environment: dict[str, str], upstream: ScriptedUpstream, folder: Path, shop: ToolShop
) -> None:
    """The question has the card's text, with the values of the shop. The session is resumed."""
    with PseudoTerminal(["chat"], environment, folder) as terminal:
        terminal.prompted()
        for said, shown, times in (("n", "I left it.", 0), ("y", "It is cancelled.", 1)):
            terminal.type("cancel it\r")
            terminal.until('→ cancel_order {"order_id": "5"}')
            terminal.until("Cancel order 5? 2 items, 89.00 EUR")
            terminal.until("Run it? [y/N]")
            terminal.prompted()
            terminal.type(f"{said}\r")
            terminal.until(shown)
            terminal.prompted()
            assert shop.cancelled["5"] == times
        shop.fail("silent", path="cancel")
        terminal.type("cancel it\r")
        terminal.until("Run it? [y/N]")
        terminal.prompted()
        sent = len(shop.requests)
        terminal.type("y\r")
        shop.wait_for(sent + 1)
        terminal.type(CTRL_C)
        terminal.until("It is not certain whether this was done: Cancel order 5?")
        terminal.prompted()
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    statuses = [e["meta"]["status"] for e in logged(folder) if e["type"] == "turn_end"]
    assert statuses == ["ok", "ok", "interrupted"]
    upstream.script("*", answer("Please look yourself."), asking="and now")
    with PseudoTerminal(["chat", "--continue"], environment, folder) as terminal:
        terminal.prompted()
        terminal.type("and now\r")
        terminal.until("Please look yourself.")
    told = [message["content"] for message in upstream.journal[-1].body["messages"]]
    assert told[-2].startswith("It is not certain whether this was done: Cancel order")


def test_a18_a_broken_table_is_reported_before_anything_is_asked(kefu: Kefu, folder: Path) -> None:
    (folder / "kefu.toml").write_text(
        '[tools.book]\npython = "no_such_module:book"\neffect = "read"\n'
    )
    ran = kefu("chat", "--once", "hello")
    assert (ran.code, ran.out) == (2, "")
    assert "no_such_module" in ran.err
    assert "Traceback" not in ran.err
