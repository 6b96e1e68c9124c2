"""A3: `kefu tools` shows what the model is given, tries a call, and imports from OpenAPI."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.settings import ConfigurationError, load
from tests.cli.conftest import Kefu
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.tool_shop import MY_ORDERS, USER_SECRET, ToolShop, order_tools

TABLES = (
    order_tools(
        '"Cancel order {{order_id}}? {{items}} items, {{total}}"',
        status='title = {{ en = "Looking up your order", zh = "正在查询" }}\n'
        'headers = {{ X-Shop = "env:SHOP_TOKEN" }}',
    )
    + MY_ORDERS
    + """
[tools.book]
url = "{shop}/bookings"
body = ["people", "days", "terrace"]
description = "Books a table."
approve = "Book for {{people}}: {{days}}, {{terrace}}?"
[tools.book.parameters]
people = {{ type = "integer" }}
days = {{ type = "array", items = {{ enum = ["mon", "tue"] }} }}
terrace = {{ type = "boolean" }}
"""
)


@pytest.fixture
def shop() -> Iterator[ToolShop]:
    with ToolShop() as running:
        yield running


@pytest.fixture
def tools(folder: Path, environment: dict[str, str], shop: ToolShop) -> Path:
    """The kefu.toml of a folder with tools."""
    environment["SHOP_TOKEN"] = "canary-token-of-the-shop"
    environment["KEFU_IDENTITY_SECRETS"] = USER_SECRET
    file = folder / "kefu.toml"
    file.write_text(TABLES.format(shop=shop.url))
    return file


def test_the_list_names_each_tool_with_its_cost(tools: Path, kefu: Kefu) -> None:
    ran = kefu("tools")
    assert (ran.code, ran.err) == (0, "")
    head, status, cancel, _, book, total = ran.out.splitlines()
    assert head.split() == ["NAME", "KIND", "EFFECT", "TOKENS", "THE", "VISITOR", "READS"]
    assert status.split(maxsplit=4)[:3] == ["order_status", "HTTP", "read"]
    assert status.endswith("Looking up your order")
    assert "cancel_order, Cancel order {order_id}? {items} items, {total}" in cancel
    assert cancel.split()[2] == book.split()[2] == "write"
    costs = [int(line.split()[3]) for line in ran.out.splitlines()[1:-1]]
    assert min(costs) > 20
    assert total == f"4 tools, about {sum(costs)} tokens of each request to the model"


def test_without_tools_the_list_says_how_to_make_one(folder: Path, kefu: Kefu) -> None:
    assert kefu("tools") == (
        0,
        "There are no tools. A table [tools.NAME] in kefu.toml makes one.\n",
        "",
    )


def test_a_mistake_in_a_table_is_told_with_its_line(tools: Path, kefu: Kefu) -> None:
    text = tools.read_text().replace("bind =", "binds =")
    tools.write_text(text)
    line = text.partition("binds =")[0].count("\n") + 1
    ran = kefu("tools")
    assert (ran.code, ran.out) == (2, "")
    assert (
        f"kefu.toml, line {line}: [tools.my_orders] binds is not a setting. Did you mean" in ran.err
    )


def test_a_call_prints_what_the_model_would_read(tools: Path, kefu: Kefu, shop: ToolShop) -> None:
    ran = kefu("tools", "call", "order_status", "order_id=5")
    assert ran.code == 0
    assert json.loads(ran.out) == shop.orders["5"]
    assert ran.err.startswith("kefu: done, ")
    assert shop.requests[0].headers["x-shop"] == "canary-token-of-the-shop"


def test_a_call_that_fails_has_its_own_exit_code(tools: Path, kefu: Kefu, shop: ToolShop) -> None:
    ran = kefu("tools", "call", "order_status", "order_id=99")
    assert (ran.code, ran.out) == (1, "The service answered HTTP 404 (Not Found).\n")
    shop.fail("500_after", times=2)
    ran = kefu("tools", "call", "order_status", "order_id=5")
    assert (ran.code, ran.err.partition(",")[0]) == (1, "kefu: failed")
    assert "canary" not in ran.out + ran.err


def test_a7_wrong_arguments_reach_no_service(tools: Path, kefu: Kefu, shop: ToolShop) -> None:
    ran = kefu("tools", "call", "order_status", "order=5")
    assert ran.code == 1
    assert "order_id is missing." in ran.out
    assert kefu("tools", "call", "order_status", "5").err == "kefu: '5' is not KEY=VALUE.\n"
    ran = kefu("tools", "call", "order_state")
    assert ran == (2, "", "kefu: order_state is not a tool. Did you mean order_status?\n")
    assert shop.requests == []


def test_arguments_have_the_types_of_the_schema(tools: Path, kefu: Kefu, shop: ToolShop) -> None:
    given = ["people=4", 'days=["mon"]', "terrace=true"]
    ran = kefu("tools", "call", "book", *given, "--yes")
    assert json.loads(ran.out) == {"number": 1, "people": 4, "days": ["mon"], "terrace": True}
    assert kefu("tools", "call", "book", "people=four", *given[1:], "--yes").code == 1
    assert len(shop.requests) == 1


def test_each_trial_of_a_write_has_a_key_of_its_own(
    tools: Path, kefu: Kefu, shop: ToolShop
) -> None:
    """A shop that honours the key would answer a second trial without doing anything."""
    given = ["people=4", 'days=["mon"]', "terrace=true", "--yes"]
    for number in (1, 2):
        assert json.loads(kefu("tools", "call", "book", *given).out)["number"] == number


def test_a9_without_a_terminal_a_write_needs_a_flag(
    tools: Path, kefu: Kefu, shop: ToolShop
) -> None:
    ran = kefu("tools", "call", "cancel_order", "order_id=5")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "Cancel order 5? 2 items, 89.00 EUR\nkefu: without a terminal, confirm with --yes.\n"
    )
    assert not shop.cancelled


@pytest.mark.parametrize("answer", ["n", "y"])
def test_a9_a_write_is_sent_after_a_yes(
    tools: Path, environment: dict[str, str], shop: ToolShop, answer: str
) -> None:
    command = ["tools", "call", "cancel_order", "order_id=5"]
    with PseudoTerminal(command, {**os.environ, **environment}, tools.parent) as terminal:
        terminal.until("Cancel order 5? 2 items, 89.00 EUR")
        terminal.until("Send it? [y/N] ")
        assert not shop.cancelled
        terminal.type(f"{answer}\n")
        terminal.until("Not sent." if answer == "n" else "cancelled")
        assert terminal.ended() == (2 if answer == "n" else 0)
    assert shop.cancelled == ({} if answer == "n" else {"5": 1})


def test_a12_a_tool_for_users_needs_one(tools: Path, kefu: Kefu, shop: ToolShop) -> None:
    ran = kefu("tools", "call", "my_orders")
    assert ran.err == "kefu: my_orders is for signed-in users: name one with --user ID.\n"
    ran = kefu("tools", "call", "my_orders", "--user", "bob")
    assert [one["id"] for one in json.loads(ran.out)["orders"]] == ["7"]
    assert kefu("tools", "call", "my_orders", "customer_id=ada", "--user", "bob").code == 1
    assert len(shop.requests) == 1


def test_a_result_cannot_control_the_terminal(tools: Path, kefu: Kefu, shop: ToolShop) -> None:
    shop.orders["5"]["state"] = "\u202epaid\x1b]0;owned\x07"
    ran = kefu("tools", "call", "order_status", "order_id=5")
    assert '"paid' in ran.out
    assert not {"\x1b", "\u202e"} & {*ran.out}


def test_a11_doctor_warns_of_what_a_site_should_think_about(
    tools: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes only: whether an order is private, the owner knows."""
    hidden = tools.read_text().replace("{people}: {days}, {terrace}", "{people}: {days}")
    tools.write_text(f"{hidden}[tools.ask_person]\n")
    ran = kefu("doctor")
    found = " ".join(ran.out.split())
    assert (
        "- Each visitor can ask order_status for any order_id: is nothing of it private?" in found
    )
    assert "any customer_id" not in found
    assert "- The question of book does not show terrace, which the model sets." in found
    assert "x [tools.ask_person] does nothing: visitors cannot reach a person." in found
    assert "is a write, which needs a stored chat" not in found
    monkeypatch.setenv("KEFU_SESSIONS", "false")
    found = " ".join(kefu("doctor").out.split())
    assert "- cancel_order is a write, which needs a stored chat, and no chats are stored." in found


def test_doctor_finds_servers_and_secrets_that_are_not_there(
    tools: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AwsKeys() as aws:
        aws.error = "ParameterNotFound"
        for name, value in aws.environment.items():
            monkeypatch.setenv(name, value)
        text = tools.read_text().replace("env:SHOP_TOKEN", "ssm:/shop/token")
        tools.write_text(f'{text}[tools.far]\nmcp = "http://127.0.0.1:1/mcp"\nallow = ["x"]\n')
        ran = kefu("doctor")
    found = " ".join(ran.out.split())
    assert ran.code == 1
    assert (
        "x X-Shop of [tools.order_status] cannot be read from ssm:/shop/token: ParameterNotFound."
        in found
    )
    assert "x The server of [tools.far] cannot be reached" in found
    assert found.count("[tools.far]") == 1


def test_doctor_warns_of_more_than_20_tools(tools: Path, kefu: Kefu) -> None:
    one = '[tools.t{0}]\nurl = "http://127.0.0.1:1/{0}"\ndescription = "Read."\n'
    tools.write_text("".join(one.format(number) for number in range(20)))
    assert "The model is given" not in kefu("doctor").out
    tools.write_text("".join(one.format(number) for number in range(21)))
    assert (
        "- The model is given 21 tools: it chooses worse among more than 20" in kefu("doctor").out
    )


DOCUMENT = """
openapi: 3.0.3
info: {title: Shop, version: "1"}
servers:
  - {url: "https://{where}.shop.example/v1/", variables: {where: {default: api}}}
security: [{token: []}, {key: []}]
paths:
  /orders/{order-id}:
    parameters:
      - {name: order-id, in: path, required: true, schema: {$ref: "#/components/schemas/Id"}}
    get:
      operationId: getOrder
      summary: Read an order
      description: "With its \\e[1m state."
      parameters:
        - {$ref: "#/components/parameters/Fields"}
        - {name: since, in: query, schema: {type: string, format: date, example: 2024-01-01}}
        - {name: "filter[x]", in: query, schema: {type: string}}
        - {name: X-Shop, in: header, required: true, schema: {type: string}}
  /orders/{order-id}/refund:
    post:
      operationId: refundOrder
      summary: Refund an order
      parameters:
        - {name: order-id, in: path, required: true, schema: {type: integer}}
      requestBody:
        content:
          application/json; charset=utf-8:
            schema:
              allOf:
                - {$ref: "#/components/schemas/Refund"}
                - {type: object, required: [notify], properties: {notify: {type: boolean}}}
  /pictures:
    put:
      operationId: putPicture
      requestBody: {content: {image/png: {schema: {type: string, format: binary}}}}
  /elsewhere:
    get: {operationId: elsewhere, parameters: [{$ref: "other.yaml#/Fields"}]}
  /forgotten/{id}:
    get: {operationId: forgotten}
components:
  securitySchemes:
    token: {type: http, scheme: bearer}
    key: {type: apiKey, in: header, name: X-Key}
  parameters:
    Fields:
      name: fields
      in: query
      description: Fields to return
      schema: {type: array, items: {type: string, enum: [state, total, null], nullable: true}}
  schemas:
    Id: {type: integer, minimum: 1, description: "The number\\non the invoice"}
    Refund:
      type: object
      required: [reason]
      properties:
        reason: {type: string, enum: [late, broken]}
        parent: {$ref: "#/components/schemas/Refund"}
"""


@pytest.fixture
def document(folder: Path) -> Path:
    file = folder / "shop.yaml"
    file.write_text(DOCUMENT)
    return file


def test_import_lists_the_operations(document: Path, kefu: Kefu) -> None:
    ran = kefu("tools", "import", "shop.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:3] == [
        "getOrder GET /orders/{order-id} Read an order",
        "refundOrder POST /orders/{order-id}/refund Refund an order",
        "putPicture PUT /pictures",
    ]


def test_import_writes_tables_that_are_valid(document: Path, kefu: Kefu) -> None:
    """What cannot be converted is a comment, and secrets are named alone."""
    ran = kefu("tools", "import", "shop.yaml", "getOrder")
    assert (ran.code, ran.err) == (0, "")
    Path("kefu.toml").write_text(ran.out)
    table = load().tools["getOrder"]
    assert table.url == "https://api.shop.example/v1/orders/{order_id}"
    assert table.description == "Read an order. With its state."
    assert table.optional == ("fields", "since")
    assert table.parameters == {
        "order_id": {"type": "integer", "minimum": 1, "description": "The number on the invoice"},
        "fields": {
            "type": "array",
            "items": {"type": "string", "enum": ["state", "total"]},
            "description": "Fields to return",
        },
        "since": {"type": "string", "description": "(date)"},
    }
    assert '# headers = { Authorization = "env:TOKEN" }' in ran.out
    assert '# headers = { X-Key = "env:KEY" }' in ran.out
    assert "# The header X-Shop is required: see headers." in ran.out
    assert "# The field filter[x] of the query has a name that no model can use." in ran.out


def test_a9_an_imported_write_is_refused_until_its_owner_has_read_it(
    document: Path, kefu: Kefu
) -> None:
    """Its question is written, and free text in it needs a preview."""
    ran = kefu("tools", "import", "shop.yaml", "refundOrder")
    assert ran.code == 0
    table = tomllib.loads(ran.out)["tools"]["refundOrder"]
    assert table["approve"] == "Refund an order: {order_id}, {reason}, {notify}?"
    assert table["body"] == ["reason", "parent", "notify"]
    assert table["parameters"]["parent"]["properties"]["parent"] == {"type": "object"}
    Path("kefu.toml").write_text(ran.out)
    with pytest.raises(ConfigurationError, match=r"refundOrder.parameters\] parent: is free text"):
        load()
    lines = [line for line in ran.out.splitlines() if not line.startswith("parent = ")]
    Path("kefu.toml").write_text("\n".join(lines).replace(', "parent"', "").replace('"parent"', ""))
    assert load().tools["refundOrder"].is_write


def test_import_reads_json_and_takes_another_address(document: Path, kefu: Kefu) -> None:
    given = {
        "openapi": "3.1.0",
        "servers": [{"url": "/api"}],
        "paths": {"/stock": {"get": {"description": "Stock"}}},
    }
    Path("shop.json").write_text(json.dumps(given))
    assert "no address of a server" in kefu("tools", "import", "shop.json", "get_stock").err
    ran = kefu("tools", "import", "shop.json", "get_stock", "--base-url", "http://127.0.0.1:1/")
    assert tomllib.loads(ran.out)["tools"]["get_stock"] == {
        "url": "http://127.0.0.1:1/stock",
        "description": "Stock.",
    }


OTHERS = """\ufeff
openapi: 3.0.3
servers: [{url: "https://api.shop.example"}]
paths:
  /orders/{id}:
    put:
      operationId: saveOrder
      parameters: [{$ref: "#/paths/~1stock~1%7Bid%7D/get/parameters/0"}]
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
  /stock/{id}:
    get:
      operationId: readStock
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer, minimum: 1}}
        - {name: country, in: query, schema: {type: string, enum: [NO, on, 12:30, 2024-01-01, "1"]}}
        - {name: half, in: query, explode: false, schema: {type: number, enum: [0.5, 1e1, 010]}}
        - {name: sizes, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: filter, in: query, style: deepObject, schema: {type: object}}
        - {name: query, in: query, content: {application/json: {schema: {type: object}}}}
components:
  schemas:
    Id: {type: integer, readOnly: true}
    Order:
      required: [id, made, state]
      properties:
        id: {$ref: "#/components/schemas/Id"}
        made: {type: string, readOnly: true}
        state: {type: string, enum: [sent, lost], readOnly: false}
"""


def test_import_leaves_out_what_the_server_alone_writes(folder: Path, kefu: Kefu) -> None:
    Path("others.yaml").write_text(OTHERS, encoding="utf-8")
    ran = kefu("tools", "import", "others.yaml", "saveOrder")
    table = tomllib.loads(ran.out)["tools"]["saveOrder"]
    assert (table["body"], table["approve"]) == (["state"], "saveOrder: {id}, {state}?")
    assert table["parameters"]["id"] == {"type": "integer", "minimum": 1}


def test_import_reads_yaml_as_openapi_wants_it(folder: Path, kefu: Kefu) -> None:
    """By YAML 1.2: only `true` and `false` are booleans, and times are no numbers."""
    Path("others.yaml").write_text(OTHERS, encoding="utf-8")
    ran = kefu("tools", "import", "others.yaml", "readStock")
    read = tomllib.loads(ran.out)["tools"]["readStock"]["parameters"]
    assert read["country"]["enum"] == ["NO", "on", "12:30", "2024-01-01", "1"]
    assert read["half"]["enum"] == [0.5, 10, 10]


def test_import_reads_tagged_values_of_yaml_as_texts(folder: Path, kefu: Kefu) -> None:
    tagged = OTHERS.replace("openapi:", "x-made: !!timestamp 2024-01-01\nopenapi:", 1)
    Path("others.yaml").write_text(tagged, encoding="utf-8")
    assert kefu("tools", "import", "others.yaml").code == 0


def test_import_leaves_out_a_read_only_reference(folder: Path, kefu: Kefu) -> None:
    """OpenAPI 3.1 lets other keywords stand beside `$ref`."""
    Path("own.json").write_text(
        '{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"post": '
        '{"operationId": "add", "requestBody": {"content": {"application/json": {"schema": '
        '{"required": ["id"], "properties": {"id": {"$ref": "#/x-id", "readOnly": true}, '
        '"size": {"type": "integer"}}}}}}}}}, "x-id": {"type": "integer"}}'
    )
    ran = kefu("tools", "import", "own.json", "add")
    assert tomllib.loads(ran.out)["tools"]["add"]["body"] == ["size"]


def test_import_refuses_a_required_field_of_the_query_that_it_cannot_write(
    folder: Path, kefu: Kefu
) -> None:
    Path("own.json").write_text(
        '{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"get": '
        '{"operationId": "find", "parameters": [{"name": "sizes", "in": "query", "required": true,'
        '"explode": false, "schema": {"type": ["array", "null"]}}]}}}}'
    )
    ran = kefu("tools", "import", "own.json", "find")
    assert (ran.code, ran.out) == (2, "")
    assert "the field sizes of the query is required, in a form that Kefu does not write" in ran.err


def test_import_refuses_types_that_lead_to_each_other_in_too_many_ways(
    folder: Path, kefu: Kefu
) -> None:
    """Eight types, each with the other seven, have more than 13,000 ways from one to another."""
    names = [f"T{number}" for number in range(8)]
    types = {
        name: {"properties": {one: {"$ref": f"#/types/{one}"} for one in names if one != name}}
        for name in names
    }
    body = {"content": {"application/json": {"schema": types["T0"]}}}
    paths = {"/a": {"post": {"operationId": "add", "requestBody": body}}}
    servers = [{"url": "https://a.example"}]
    document = {"openapi": "3.1.0", "servers": servers, "paths": paths, "types": types}
    Path("own.json").write_text(json.dumps(document))
    ran = kefu("tools", "import", "own.json", "add")
    assert (ran.code, ran.out) == (2, "")
    assert "the schema of a value contains more than 5,000 others" in ran.err


def test_import_names_fields_of_the_query_with_a_form_of_their_own(
    folder: Path, kefu: Kefu
) -> None:
    Path("others.yaml").write_text(OTHERS, encoding="utf-8")
    ran = kefu("tools", "import", "others.yaml", "readStock")
    told = [line.split()[3] for line in ran.out.splitlines() if line.endswith("form of its own.")]
    assert told == ["sizes", "filter", "query"]
    assert set(tomllib.loads(ran.out)["tools"]["readStock"]["parameters"]).isdisjoint(told)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("shop.yaml", "getOrdr"), "shop.yaml: there is no operation getOrdr"),
        (("shop.yaml", "putPicture"), "putPicture has a body that is no JSON object"),
        (("shop.yaml", "elsewhere"), "other.yaml#/Fields is not in this file"),
        (("shop.yaml", "forgotten"), "forgotten does not describe id, which is in its path"),
        (("nowhere.json",), "nowhere.json: [Errno 2] No such file"),
        (("list.json",), "list.json: this is not an OpenAPI document of version 3"),
        (("old.json",), "make it version 3 with npx swagger2openapi FILE --patch -o NEW.json"),
        (("half.json",), "half.json: it is not valid JSON: Expecting"),
        (("half.yaml",), "half.yaml: it is not valid YAML: "),
        (("empty.yaml",), "empty.yaml: this is not an OpenAPI document of version 3"),
        (("bomb.yaml",), "bomb.yaml: it is not valid YAML: its aliases repeat too much"),
        (("loop.yaml",), "loop.yaml: it is not valid YAML: Circular reference"),
        (("key.yaml",), "key.yaml: it is not valid YAML: keys must be"),
        (("tag.yaml",), "tag.yaml: it is not valid YAML: "),
        (("deep.yaml",), "deep.yaml: it is nested too deeply"),
        (("deep.json", "get_a"), "deep.json: it is nested too deeply"),
    ],
)
def test_a3_what_cannot_be_imported_is_told(
    document: Path, kefu: Kefu, arguments: tuple[str, ...], sentence: str
) -> None:
    Path("list.json").write_text("[]")
    Path("old.json").write_text('{"swagger": "2.0"}')
    Path("half.json").write_text("{")
    Path("half.yaml").write_text("{a: [")
    Path("empty.yaml").write_text("")
    lines = (f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    Path("bomb.yaml").write_text(f"a0: &a0 [{'x, ' * 10}]\n{''.join(lines)}")
    Path("loop.yaml").write_text("a: &a [*a]")
    Path("key.yaml").write_text("? !!timestamp 2024-01-01\n: x")
    Path("tag.yaml").write_text("a: !!timestamp soon")
    Path("deep.yaml").write_text("[" * 900)
    schema = '{"items": ' * 900 + "{}" + "}" * 900
    Path("deep.json").write_text(
        '{"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"get": '
        f'{{"parameters": [{{"name": "a", "in": "query", "schema": {schema}}}]}}}}}}}}'
    )
    ran = kefu("tools", "import", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert len(ran.err.splitlines()) == 1
