"""The tables [tools.NAME] of kefu.toml: what they set, and a sentence for each mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kefu.settings import ConfigurationError, load
from kefu.tools.card import is_free_text

READ = """\
[tools.order_status]
url = "https://api.shop.example/orders/{order_id}"
description = "State of an order."
[tools.order_status.parameters]
order_id = { type = "string" }
"""

WRITE = """\
[tools.cancel_order]
url = "https://api.shop.example/orders/{order_id}/cancel"
method = "POST"
description = "Cancels an order."
approve = "Cancel order {order_id}?"
[tools.cancel_order.parameters]
order_id = { type = "integer" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(folder: Path, text: str) -> str:
    (folder / "kefu.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as error:
        load()
    return str(error.value)


def test_the_tables_of_all_kinds_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "Bearer 0123456789")
    monkeypatch.setenv("KEFU_IDENTITY_SECRETS", "s" * 32)
    (folder / "order.md").write_text("State of an order.\n")
    (folder / "kefu.toml").write_text(
        """
        [tools.order_status]
        url = "https://api.shop.example/orders/{order_id}?lang={lang}"
        headers = { Authorization = "env:SHOP_TOKEN", X-Shop = "ssm:/shop/key" }
        description = "@order.md"
        title = { en = "Looking up your order", zh-CN = "正在查询订单" }
        optional = ["lang"]
        links = ["https://shop.example/"]
        after = ["stock", "get_order"]
        user = "required"
        bind = { customer_id = "user.sub" }
        [tools.order_status.parameters]
        order_id = { type = "string", description = "The number on the invoice." }
        lang = { type = "string" }
        customer_id = { type = "string" }

        [tools.cancel_order]
        url = "https://api.shop.example/orders/{order_id}/cancel"
        body = ["reason"]
        description = "Cancels an order."
        approve = "Cancel order {order_id}? {items.count} items, {total}"
        preview = "order_status"
        idempotent = true
        [tools.cancel_order.parameters]
        order_id = { type = "string" }
        reason = { enum = ["late", "other"] }

        [tools.shop]
        mcp = "https://shop.example/mcp"
        allow = ["get_order", "return_order"]
        [tools.shop.tools.return_order]
        approve = "Return order {order_id}?"

        [tools.stock]
        python = "site_tools:stock"
        effect = "read"

        [tools.search_pages]

        [presets.sales]
        tools = ["stock", "return_order", "search_pages"]
        """
    )
    settings = load()
    status, cancel, shop, stock, search = settings.tools.values()
    kinds = [one.kind for one in settings.tools.values()]
    assert kinds == ["http", "http", "mcp", "python", "built-in"]
    assert [one.is_write for one in settings.tools.values()] == [False, True, False, False, False]
    assert (status.http_method, cancel.http_method) == ("GET", "POST")
    assert status.description == "State of an order."
    assert status.title["zh-CN"] == "正在查询订单"
    assert cancel.approve == {"": "Cancel order {order_id}? {items.count} items, {total}"}
    assert status.needs_user
    assert not cancel.needs_user
    assert shop.tools["return_order"].approve == {"": "Return order {order_id}?"}
    assert stock.title == search.title == {}
    assert settings.presets["sales"].tools == ("stock", "return_order", "search_pages")
    schema = status.input_schema
    assert schema["required"] == ["order_id"]
    assert list(schema["properties"]) == ["order_id", "lang"]  # type: ignore[call-overload]


def test_secrets_of_tools_are_secrets_of_the_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A13: the log and the call log replace all of `Settings.secrets`."""
    monkeypatch.setenv("SHOP_TOKEN", "Bearer 0123456789")
    headers = 'headers = { Authorization = "env:SHOP_TOKEN" }\n[tools.order_status.parameters]'
    text = READ.replace("[tools.order_status.parameters]", headers)
    (folder / "kefu.toml").write_text(text)
    settings = load()
    assert {"Bearer 0123456789", "0123456789"} <= set(settings.secrets)
    assert settings.tool_endpoint("order_status").headers == {"Authorization": "Bearer 0123456789"}
    assert "0123456789" not in repr(settings)
    monkeypatch.delenv("SHOP_TOKEN")
    assert refused(folder, text) == (
        "kefu.toml, line 1: [tools.order_status] names the environment variable SHOP_TOKEN, which "
        "is not set"
    )


def test_a_variable_that_is_named_as_the_table_is_no_setting(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shells and build systems have such variables."""
    monkeypatch.setenv("tools", "/opt/tools")
    assert load().tools == {}


def test_a_service_without_tools_imports_nothing_of_them(folder: Path) -> None:
    """A19: cold starts stay short."""
    program = "import kefu.settings, sys; kefu.settings.load(); print(*sys.modules)"
    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = [name for name in child.stdout.split() if name.startswith("kefu.")]
    assert "kefu.settings.all" in loaded
    tools = ("kefu.tools", "kefu.settings.tool")
    assert not [name for name in loaded if name.startswith(tools)]


def with_line(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


MISTAKES = {
    "an unknown key": (
        with_line(READ, "description =", "descripton ="),
        (
            "kefu.toml, line 3: [tools.order_status] descripton is not a setting. "
            "Did you mean description?"
        ),
    ),
    "an unknown key of a tool of MCP": (
        '[tools.s]\nmcp = "https://a.example"\nallow = ["b"]\n[tools.s.tools.b]\ntitel = "B"',
        "kefu.toml, line 5: [tools.s.tools.b] titel: is not a setting here",
    ),
    "a host that the model chooses": (
        with_line(READ, "api.shop.example", "{order_id}"),
        "line 2: [tools.order_status] url: scheme and host must be fixed: placeholders are for",
    ),
    "a port that the model chooses": (
        with_line(READ, "api.shop.example", "api.shop.example:{order_id}"),
        "scheme and host must be fixed",
    ),
    "a scheme that the model chooses": (
        with_line(READ, "https:", "{order_id}:"),
        "scheme and host must be fixed",
    ),
    "no address": (
        with_line(READ, "https://api.shop.example", ""),
        "line 2: [tools.order_status] url: must be an address such as https://shop.example/orders",
    ),
    "a file": (with_line(READ, "https://api.shop.example", "file://"), "must be an address such"),
    "a name in the address": (
        with_line(READ, "https://", "https://user@"),
        "must hold no user name or password",
    ),
    "a name that the model chooses": (
        with_line(READ, "/{order_id}", "?{order_id}=1"),
        "a placeholder in the query must be a value, as in ?page={page}",
    ),
    "half a placeholder": (
        with_line(READ, "{order_id}", "{order_id"),
        "a placeholder must be {NAME}",
    ),
    "a secret in the address": (
        with_line(READ, "{order_id}", "{order_id}?api_key=abc"),
        'api_key looks like a secret: send it in headers, as "env:NAME"',
    ),
    "a placeholder without a parameter": (
        with_line(READ, "order_id = {", "id = {"),
        "line 2: [tools.order_status] url: order_id is no parameter: add it to the tool's table",
    ),
    "a body without a parameter": (
        with_line(WRITE, "method =", 'body = ["reason"]\nmethod ='),
        "line 3: [tools.cancel_order] body: reason is no parameter",
    ),
    "a GET with a body": (
        with_line(READ, "description =", 'method = "GET"\nbody = ["order_id"]\ndescription ='),
        "body: a GET request has no body: put the values into url",
    ),
    "an optional part of the path": (
        with_line(READ, "description =", 'optional = ["order_id"]\ndescription ='),
        "optional: order_id is part of the path, so it cannot be left out",
    ),
    "no description": (
        with_line(READ, 'description = "State of an order."\n', ""),
        "line 1: [tools.order_status] description: is missing: say to the model",
    ),
    "a wrong type": (
        with_line(READ, 'description = "State of an order."', "description = 5"),
        "line 3: [tools.order_status] description: should be a valid string",
    ),
    "a schema that cannot be checked": (
        with_line(READ, '"string" }', '"string", format = "date" }'),
        "line 5: [tools.order_status.parameters] order_id: format of JSON Schema cannot be",
    ),
    "a type that is none": (
        with_line(READ, '"string"', '"text"'),
        "line 5: [tools.order_status.parameters] order_id: type of JSON Schema cannot be checked",
    ),
    "a secret header": (
        with_line(READ, "description =", 'headers = { X-Api-Key = "abc" }\ndescription ='),
        (
            "line 3: [tools.order_status] headers: X-Api-Key looks like a secret, which must not "
            'be in this file: write "env:NAME"'
        ),
    ),
    "a key in a header": (
        with_line(READ, "description =", "headers.X-A = 'sk-0123456789abcdef0123'\ndescription ="),
        'remove it, and write "env:NAME" with the name of an environment variable',
    ),
    "no kind": (
        "[tools.order]\ndescription = 'x'",
        "line 1: [tools.order]: needs one of url, mcp, python and page. Tools of Kefu are",
    ),
    "page with a body": (
        '[tools.add]\npage = true\nbody = ["size"]',
        "line 3: [tools.add] body: is not for a tool of the page, which describes it: remove it",
    ),
    "two kinds": (
        with_line(READ, "description =", 'python = "a:b"\ndescription ='),
        "line 3: [tools.order_status] python: the tool has url already: make two tables of it",
    ),
    "a key of another kind": (
        '[tools.stock]\npython = "a:b"\neffect = "read"\nmethod = "GET"',
        "line 4: [tools.stock] method: is not for a Python function",
    ),
    "a name that a model cannot call": (
        READ.replace("order_status", '"Order status"'),
        "[tools.Order status]: a model cannot call this name: use at most 64 letters",
    ),
    "the name of a tool of Kefu": (
        READ.replace("order_status", "search_pages"),
        "url: search_pages is the name of a tool of Kefu: give the table another name",
    ),
    "a name twice": (
        READ + '[tools.shop]\nmcp = "https://a.example/"\nallow = ["order_status"]',
        (
            "line 8: [tools.shop] allow: order_status is the name of a tool in "
            "[tools.order_status] already: allow one"
        ),
    ),
    "a name of two servers": (
        (
            '[tools.a]\nmcp = "https://a.example/"\nallow = ["x"]\n'
            '[tools.b]\nmcp = "https://b.example/"\nallow = ["x"]'
        ),
        "line 6: [tools.b] allow: x is the name of a tool in [tools.a] already",
    ),
    "a server without tools": (
        '[tools.a]\nmcp = "https://a.example/"',
        "line 1: [tools.a] allow: is missing: name the tools of the server",
    ),
    "a server with too many tools": (
        f'[tools.a]\nmcp = "https://a.example/"\nallow = {[f"t{n}" for n in range(11)]}',
        "line 3: [tools.a] allow: names more than 10 tools",
    ),
    "a server's tool that is not allowed": (
        '[tools.a]\nmcp = "https://a.example/"\nallow = ["x"]\n[tools.a.tools.y]\ntitle = "Y"',
        "line 4: [tools.a] tools: y is not in allow",
    ),
    "a write without a question": (
        with_line(WRITE, 'approve = "Cancel order {order_id}?"\n', ""),
        "line 1: [tools.cancel_order]: is a write, so it needs a question to the visitor: approve",
    ),
    "a function that may write": (
        '[tools.stock]\npython = "a:b"',
        '(or effect = "read", if it changes nothing)',
    ),
    "a question of a read": (
        with_line(READ, "description =", 'approve = "Look?"\ndescription ='),
        'line 3: [tools.order_status] approve: is for writes: remove it, or write effect = "write"',
    ),
    "a question with an unknown value": (
        with_line(WRITE, "{order_id}?", "{order_id}, {total}?"),
        "line 5: [tools.cancel_order] approve: total is no parameter: add it, or name a preview",
    ),
    "a question with a value that may be missing": (
        with_line(WRITE, "{order_id}?", "{order_id}, {why}?")
        .replace("approve =", 'body = ["why"]\noptional = ["why"]\napprove =')
        .replace('"integer" }', '"integer" }\nwhy = { enum = ["late"] }'),
        "approve: why can be left out, and the question could not be asked then: require it",
    ),
    "a free text in a write": (
        with_line(WRITE, '"integer"', '"string"'),
        "line 7: [tools.cancel_order.parameters] order_id: is free text, so the model could choose",
    ),
    "a preview that is no tool": (
        READ + with_line(WRITE, "approve =", 'preview = "order_state"\napprove ='),
        (
            "line 10: [tools.cancel_order] preview: order_state is not a tool. "
            "Did you mean order_status?"
        ),
    ),
    "a preview that writes": (
        WRITE.replace("cancel_order", "drop_order")
        + with_line(WRITE, "approve =", 'preview = "drop_order"\napprove ='),
        "preview: drop_order is a write: name a tool that reads",
    ),
    "a preview that needs more": (
        READ.replace("order_id", "number")
        + with_line(WRITE, "approve =", 'preview = "order_status"\napprove ='),
        "preview: order_status needs number, which is no parameter of this tool",
    ),
    "an unknown tool in after": (
        with_line(READ, "description =", 'after = ["stock"]\ndescription ='),
        "line 3: [tools.order_status] after: stock is not a tool. There are order_status.",
    ),
    "a link that is no folder": (
        with_line(READ, "description =", 'links = ["https://shop.example"]\ndescription ='),
        "links: https://shop.example must be the address of a folder, which ends with /",
    ),
    "an unknown tool in a preset": (
        READ + '[presets.sales]\ntools = ["order_state"]',
        "line 7: [presets.sales] tools: order_state is not a tool. Did you mean order_status?",
    ),
    "a tool in a preset, and none at all": (
        '[presets.sales]\ntools = ["stock"]',
        "line 2: [presets.sales] tools: stock is not a tool. There are none.",
    ),
    "users without a secret": (
        with_line(READ, "description =", 'user = "required"\ndescription ='),
        (
            "line 3: [tools.order_status] user: needs users who have signed in: set "
            "KEFU_IDENTITY_SECRETS"
        ),
    ),
    "bound parameters without a secret": (
        with_line(READ, "description =", 'bind = { order_id = "user.sub" }\ndescription ='),
        "line 3: [tools.order_status] bind: needs users who have signed in",
    ),
    "a bound parameter of nobody": (
        with_line(READ, "description =", 'bind = { order_id = "sub" }\ndescription ='),
        "line 3: [tools.order_status] bind: order_id must be user.sub or user.CLAIM",
    ),
    "a language that is none": (
        with_line(READ, "description =", 'title = { "e n" = "x" }\ndescription ='),
        "line 3: [tools.order_status] title: e n is not the tag of a language",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a3_a_mistake_stops_the_start_with_file_line_and_mend(case: str, folder: Path) -> None:
    text, sentence = MISTAKES[case]
    said = refused(folder, text)
    assert sentence in said, said
    assert said.startswith("kefu.toml, line ")
    assert len(said.splitlines()) == 1


def test_all_mistakes_are_told_at_once(folder: Path) -> None:
    text = READ.replace("{order_id}", "{id}") + WRITE.replace("{order_id}?", "{id}?")
    assert len(refused(folder, text).splitlines()) == 2


@pytest.mark.parametrize(
    ("schema", "free"),
    [
        ({"type": "string"}, True),
        ({}, True),
        ({"type": "object"}, True),
        ({"type": "array", "items": {"type": "string"}}, True),
        ({"type": "string", "pattern": "^.*$"}, True),
        ({"type": "string", "pattern": "[0-9]+"}, True),
        ({"type": "string", "pattern": "^[0-9]{4,8}$"}, False),
        ({"type": "string", "enum": ["a", "b"]}, False),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, False),
        ({"type": "integer"}, False),
        ({"type": "boolean"}, False),
    ],
)
def test_a9_what_is_free_text(schema: dict[str, object], *, free: bool) -> None:
    assert is_free_text(schema) is free
