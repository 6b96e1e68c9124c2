"""`kefu tools …`: shows what the model is given, tries a call, reads OpenAPI documents, and locks
the tools of MCP servers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kefu.bootstrap.tool_trial import NotTried, TrialCall, open_tools, tokens_of, try_call
from kefu.cli.openapi import operations, table_of
from kefu.cli.openapi_schema import BadDocument
from kefu.cli.tool_lock import lock
from kefu.settings import Settings
from kefu.terminal.clean import clean, one_line
from kefu.terminal.flags import WrongUse, read_settings, wrong_settings, wrong_use
from kefu.tools.tool import Tool, in_language

_YAML_VALUES: Final = (
    ("bool", r"(true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.?[0-9]+)([eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("null", r"(~|null|Null|NULL)?$", "~nN"),
    ("merge", r"<<$", "<"),
)
"""The values that are no texts: the tag, a pattern, the first characters."""

_LARGEST = 1_000_000
"""Characters of a small YAML file with its aliases written out; a larger file may grow tenfold."""

_KINDS = {"http": "HTTP", "mcp": "MCP", "python": "Python", "page": "page", "built-in": "Kefu"}


def run(options: argparse.Namespace) -> int:
    """Run an action of the command. Returns the exit code. Raises WrongUse."""
    match options.action:
        case "call":
            return _call(options)
        case "import":
            return _import(options)
        case "lock":
            with wrong_settings(), wrong_use(OSError):
                return asyncio.run(lock(read_settings(), _notice))
    return asyncio.run(_list(read_settings()))


def _notice(text: str) -> None:
    sys.stderr.write(f"kefu: {one_line(text, 400)}\n")


async def _list(settings: Settings) -> int:
    with wrong_settings():
        async with open_tools(settings, _notice) as opened:
            tools, problems = opened.tools.values(), opened.problems
    if not tools and not problems:
        sys.stdout.write("There are no tools. A table [tools.NAME] in kefu.toml makes one.\n")
        return 0
    rows = [("NAME", "KIND", "EFFECT", "TOKENS", "THE VISITOR READS")]
    rows += [_row(settings, tool) for tool in tools]
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        sys.stdout.write(f"{'  '.join([*cells, row[4]])}\n")
    total = sum(map(tokens_of, tools))
    sys.stdout.write(f"{len(tools)} tools, about {total} tokens of each request to the model\n")
    return 1 if problems else 0


def _row(settings: Settings, tool: Tool) -> tuple[str, str, str, str, str]:
    table = settings.tools.get(tool.name)
    title = in_language(tool.title, "") or tool.name
    shown = f"{title}, {in_language(tool.approve, '')}" if tool.approve else title
    kind = _KINDS[table.kind if table else "mcp"]
    return tool.name, kind, tool.effect, str(tokens_of(tool)), one_line(shown, 100)


def _call(options: argparse.Namespace) -> int:
    settings = read_settings()
    call = TrialCall(options.name, _arguments(options.arguments), options.user)

    def ask(card: str) -> bool:
        sys.stderr.write(f"{clean(card)}\n")
        return options.yes or _confirmed()

    with wrong_settings(), wrong_use(NotTried):
        use = asyncio.run(try_call(settings, call, ask, _notice))
    sys.stdout.write(f"{clean(use.result)}\n")
    sys.stderr.write(f"kefu: {use.state}, {use.ms} ms\n")
    return 0 if use.state == "done" else 1


def _confirmed() -> bool:
    """Whether the user confirms. Without a terminal, nobody can."""
    if not sys.stdin.isatty():
        raise WrongUse("without a terminal, confirm with --yes.")
    sys.stderr.write("Send it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _arguments(given: Sequence[str]) -> Mapping[str, str]:
    """Raises WrongUse."""
    if wrong := [one for one in given if "=" not in one]:
        raise WrongUse(f"{wrong[0]!r} is not KEY=VALUE.")
    return {name: text for name, _, text in (one.partition("=") for one in given)}


def _import(options: argparse.Namespace) -> int:
    with wrong_use(BadDocument, OSError, ValueError, prefix=f"{options.file}: "):
        try:
            text = _imported(options)
        except RecursionError:
            raise BadDocument("it is nested too deeply") from None
    sys.stdout.write(clean(text))
    return 0


def _imported(options: argparse.Namespace) -> str:
    """The tables, or a list of all operations. Raises OSError, ValueError, RecursionError."""
    document = _document(Path(options.file))
    known = {one.id: one for one in operations(document)}
    if not options.operations:
        lines = (f"{one.id}  {one.method} {one.path}  {one.summary}" for one in known.values())
        return "".join(f"{one_line(line, 200)}\n" for line in lines)
    if unknown := [name for name in options.operations if name not in known]:
        raise BadDocument(f"there is no operation {unknown[0]}: list them without a name")
    tables = [table_of(known[name], document, options.base_url) for name in options.operations]
    return "\n".join(tables)


def _document(file: Path) -> dict[str, object]:
    """Raises OSError, ValueError, RecursionError."""
    text = file.read_text(encoding="utf-8-sig")
    is_yaml = file.suffix in (".yaml", ".yml")
    try:
        found = _yaml(text) if is_yaml else json.loads(text)
    except ValueError as error:
        kind, why = "YAML" if is_yaml else "JSON", one_line(str(error), 200)
        raise BadDocument(f"it is not valid {kind}: {why}") from None
    if not isinstance(found, dict):
        raise BadDocument("this is not an OpenAPI document of version 3")
    return found


def _yaml(text: str) -> object:
    """By YAML 1.2, as OpenAPI wants it: NO, 12:30 and dates are texts. Raises ValueError."""
    import yaml

    loader: Any = type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, starts in _YAML_VALUES:
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), [*starts, ""])
    try:
        # Through JSON, whose names are texts, and which has no dates: `!!timestamp` is a text.
        reader = loader(text)
        node = reader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > max(_LARGEST, 10 * len(text)):
            raise ValueError("its aliases repeat too much")
        return json.loads(json.dumps(reader.construct_document(node), default=str))
    except (yaml.YAMLError, AttributeError, LookupError, TypeError) as error:
        # PyYAML raises all of these for tags that do not fit, such as `!!timestamp soon`.
        raise ValueError(str(error)) from None


def _size(node: Any, known: dict[int, int]) -> int:
    """The characters and nodes in a node of YAML, as often as its aliases repeat them."""
    if not isinstance(node.value, list):
        return 1 + len(node.value)
    if id(node) not in known:
        known[id(node)] = 0  # an alias in its own node
        inner = (one for each in node.value for one in (each if type(each) is tuple else (each,)))
        known[id(node)] = 1 + sum(_size(one, known) for one in inner)
    return known[id(node)]
