"""Checks the tables [tools.NAME]: the keys of each kind, addresses, parameters and writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from kefu.settings.endpoint import SECRET_NAME
from kefu.settings.tool_approval import approval_problems, card_problems
from kefu.settings.tool_references import reference_problems, same_names
from kefu.settings.tools import (
    BUILT_IN,
    NAME,
    PLACEHOLDER,
    TABLES,
    McpToolTable,
    Problem,
    ToolTable,
    Wrong,
    refused,
)

_OF_ALL: Final = {"after", "links", "user"}
_SHOWN: Final = frozenset(McpToolTable.model_fields)

KEYS: Final[Mapping[str, frozenset[str]]] = {
    "http": frozenset(ToolTable.model_fields) - {"mcp", "allow", "tools", "python", "page"},
    "mcp": frozenset({"mcp", "allow", "tools", "headers", *_OF_ALL}),
    "python": frozenset({"python", *_OF_ALL, *_SHOWN}),
    "page": frozenset({"page", "title", "approve", "links", "user"}),
    "built-in": frozenset({"title"}),
}
"""The keys that each kind of tool may have."""

MOST_OF_SERVER: Final = 10
"""Tools of one MCP server: the model reads all of them in each request."""

_A_KIND: Final = {
    "http": "a tool with a url",
    "mcp": "an MCP server: its tools describe themselves, and [tools.NAME.tools.TOOL] adds to it",
    "python": "a Python function, whose signature and docstring describe it",
    "page": "a tool of the page, which describes it",
    "built-in": "a tool of Kefu",
}


def checked(given: object) -> dict[str, ToolTable]:
    """The tables of all tools. Raises ValidationError."""
    tables = TABLES.validate_python(given)
    if problems := list(_all_problems(tables)):
        raise refused(problems)
    return tables


def _all_problems(tables: Mapping[str, ToolTable]) -> Iterator[Problem]:
    """Each names a key, and says in a sentence how to mend it."""
    for name, table in tables.items():
        for key, says in _problems(name, table, tables):
            yield (name, *filter(None, key.split("."))), says
    yield from same_names(tables)


def _problems(name: str, table: ToolTable, tables: Mapping[str, ToolTable]) -> list[Wrong]:
    """The problems of the first check that finds any: others would follow from them."""
    if wrong := list(_kind(name, table)):
        return wrong
    is_http = table.kind == "http"
    if is_http and (wrong := [*_address(table), *_parameters(table), *_schemas(table)]):
        return wrong
    if table.kind == "mcp" and (wrong := list(_server(table))):
        return wrong
    if wrong := [*approval_problems(table), *reference_problems(name, table, tables)]:
        return wrong
    return list(card_problems(table, table.parameters)) if is_http else []


def _kind(name: str, table: ToolTable) -> Iterator[Wrong]:
    kinds = [kind for kind in ("url", "mcp", "python", "page") if getattr(table, kind)]
    if not NAME.fullmatch(name):
        yield "", "a model cannot call this name: use at most 64 letters, digits, _ and -"
    if len(kinds) > 1:
        yield kinds[1], f"the tool has {kinds[0]} already: make two tables of it"
    elif kinds and name in BUILT_IN:
        yield kinds[0], f"{name} is the name of a tool of Kefu: give the table another name"
    elif not kinds and name not in BUILT_IN:
        yield (
            "",
            f"needs one of url, mcp, python and page. Tools of Kefu are {' and '.join(BUILT_IN)}",
        )
    else:
        for key in sorted(table.model_fields_set - KEYS[table.kind]):
            yield key, f"is not for {_A_KIND[table.kind]}: remove it"


def _address(table: ToolTable) -> Iterator[Wrong]:
    scheme, has_host, rest = table.url.partition("://")
    if has_host and "{" in scheme + rest.partition("/")[0].partition("?")[0]:
        yield "url", "scheme and host must be fixed: placeholders are for the path and the query"
        return
    query = parse_qsl(urlsplit(table.url).query, keep_blank_values=True)
    if wrong := _no_address(table.url):
        yield "url", wrong
    elif "{" in (rest := PLACEHOLDER.sub("", table.url)) or "}" in rest:
        yield "url", "a placeholder must be {NAME}, with letters, digits, _ and - in it"
    elif any("{" in name for name, _ in query):
        yield "url", "a placeholder in the query must be a value, as in ?page={page}"
    for name, value in query:
        if SECRET_NAME.search(name) and "{" not in value:
            yield "url", f'{name} looks like a secret: send it in headers, as "env:NAME"'


def _server(table: ToolTable) -> Iterator[Wrong]:
    if wrong := _no_address(table.mcp):
        yield "mcp", wrong
    elif "{" in table.mcp:
        yield "mcp", "must be a fixed address, without placeholders"
    if not table.allow:
        yield "allow", "is missing: name the tools of the server that the model may call"
    if len(table.allow) > MOST_OF_SERVER:
        yield "allow", f"names more than {MOST_OF_SERVER} tools: choose those that chats need"
    for name in table.allow:
        if not NAME.fullmatch(name):
            yield "allow", f"a model cannot call {name}: use letters, digits, _ and -"
    for name in table.tools.keys() - {*table.allow}:
        yield "tools", f"{name} is not in allow"


def _no_address(url: str) -> str:
    """What is wrong with an address; "" for a right one."""
    parts = urlsplit(url)
    try:
        has_valid_port = parts.port != 0
    except ValueError:
        has_valid_port = False
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_valid_port:
        return "must be an address such as https://shop.example/orders"
    if parts.username is not None or parts.password is not None:
        return 'must hold no user name or password: send it in headers, as "env:NAME"'
    if parts.fragment or not url.isascii() or not url.isprintable() or " " in url:
        return "must have no fragment, no space, and ASCII characters only"
    return ""


def _parameters(table: ToolTable) -> Iterator[Wrong]:
    if not table.description.strip():
        yield "description", "is missing: say to the model what the tool does"
    if table.body and table.http_method in ("GET", "HEAD"):
        yield "body", f"a {table.http_method} request has no body: put the values into url"
    known = [*table.parameters, *table.bind]
    in_url = PLACEHOLDER.findall(table.url)
    for key, names in (("url", in_url), ("body", table.body), ("optional", table.optional)):
        for name in names:
            if name not in known:
                yield key, f"{name} is no parameter: add it to the tool's table parameters"
    in_path = PLACEHOLDER.findall(urlsplit(table.url).path)
    for name in table.optional:
        if name in in_path:
            yield "optional", f"{name} is part of the path, so it cannot be left out"
        elif name in table.bind:
            yield "optional", f"{name} is set by Kefu, so it is never left out"


def _schemas(table: ToolTable) -> Iterator[Wrong]:
    from kefu.tools.schema import unknown

    for name, schema in table.parameters.items():
        for place in unknown(schema):
            says = f"{place} of JSON Schema cannot be checked here: remove it"
            yield f"parameters.{name}", says
