"""Writes what is made from the source, pages of docs/ and the widget's hash in template.yaml;
`--check` only compares them.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from kefu.__main__ import parser
from kefu.events.fields import camel
from kefu.settings import Settings

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / "functions/kefu/web/static/widget/chat-widget.json"

# The first setting of each section, in the order of kefu.settings.
SECTIONS = {
    "LONGCAT_API_KEYS": "The model",
    "KEFU_STORE": "The service",
    "KEFU_MAX_BODY_BYTES": "Limits",
    "KEFU_SESSIONS": "Kept chats",
    "KEFU_BOT_CHECK": "Bot check",
    "ADMIN_TOKEN": "The operator's panel",
    "KEFU_MAX_RETRIES": "Keys",
    "KEFU_TRY_TIMEOUT": "Time limits, in seconds",
}

SETTINGS_HEAD = """\
<!-- Made by `make docs` from functions/kefu/settings.py. -->
# Settings

Each is an environment variable; an empty one counts as unset. A wrong value stops the start with
a sentence that names it."""


def settings_page() -> str:
    lines = [SETTINGS_HEAD]
    for field in Settings.model_fields.values():
        if field.exclude:
            continue
        if field.alias in SECTIONS:
            heading = f"## {SECTIONS[field.alias]}"
            lines += [
                "",
                heading,
                "",
                "| Variable | Value | Default | Meaning |",
                "|---|---|---|---|",
            ]
        cells = (f"`{field.alias}`", _value(field), _default(field), field.description or "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _value(field: FieldInfo) -> str:
    kind = field.annotation
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if kind is bool or set(get_args(kind)) == {bool, NoneType}:
        return "`true`, `false`"
    if kind is int or kind is float:
        return ("whole number" if kind is int else "number") + _range(field)
    if get_origin(kind) is tuple or "comma separated" in (field.description or ""):
        return "list"
    return "text"


def _range(field: FieldInfo) -> str:
    low = high = ""
    for bound in field.metadata:
        match bound:
            case Ge(ge=value):
                low = f" ≥ {value}"
            case Gt(gt=value):
                low = f" > {value}"
            case Le(le=value):
                high = f", ≤ {value}"
    return low + high


def _default(field: FieldInfo) -> str:
    default = field.default
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    return "" if default is None or default in ("", ()) else f"`{default}`"


CLI_HEAD = """\
<!-- Made by `make docs` from functions/kefu/cli/arguments.py. -->
# The command line

What each command says to `--help`. [The terminal chat](terminal.md) shows it at work."""


def cli_page() -> str:
    lines = [CLI_HEAD]
    for command in _commands(parser()):
        command.formatter_class = functools.partial(cast(Any, command.formatter_class), width=88)
        lines += ["", f"## `{command.prog}`", "", "```text", command.format_help().rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _commands(command: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A command and all below it, each once."""
    yield command
    for action in command._actions:
        if isinstance(action.choices, dict):
            for below in action.choices.values():
                yield from _commands(below)


def template() -> str:
    """The one there is, with the names of the widget that was built last."""
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    if not MANIFEST.exists():
        sys.exit("The widget is not built yet. Run: make setup")
    widget = json.loads(MANIFEST.read_text(encoding="utf-8"))
    for name in ("File", "Integrity"):
        line = f"      {name}: {widget[name.lower()]}"
        text, found = re.subn(rf"^      {name}: .+$", line, text, flags=re.MULTILINE)
        if found != 1:
            sys.exit(f"template.yaml must have one line for the widget's {name}, not {found}.")
    return text


EVENTS_HEAD = """\
<!-- Made by `make docs` from functions/kefu/events. -->
# Events of a session

What happens in a chat on the terminal is one line of JSON each, UTF-8, in
`history/<session_id>.jsonl`. A line is never changed, and a file has one writer. Every line has

| Field | Value | Meaning |
|---|---|---|
| `v` | `1` | version of the format |
| `ts` | text | ISO 8601 in UTC, with milliseconds; may go back, as clocks do |
| `session_id` | text | `sess_` and a ULID |
| `seq` | whole number | from 1, without gaps unless the disk was full: the order |
| `turn` | whole number | from 1; absent outside of turns |
| `step` | whole number | from 0 in its turn: one call of the model and what follows from it |
| `type` | text | one of those below |

and what follows here: `content` and `role` stand beside these, all else is in `meta`. What has no
value is absent, never null. Readers leave out types and fields they do not know, so that newer logs
can be read; a last line that was torn when its writer was killed is left out as well.

A turn's `tokens` are the sum over its `assistant` and `budget` lines, and a session's the sum over
all of them. What `tokens`, `estimate` and the like consist of stands at the end."""

EVENTS = ROOT / "functions/kefu/events"
KINDS = {
    "str": "text",
    "int": "whole number",
    "bool": "`true`, `false`",
    "Mapping[str, object]": "object",
}


def events_page() -> str:
    """Of each class its docstring and the string below each field."""
    names = ("session_events.py", "step_events.py", "parts.py")
    trees = [ast.parse((EVENTS / name).read_text(encoding="utf-8")) for name in names]
    body = [node for tree in trees for node in tree.body]
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    choices = {
        node.targets[0].id: node.value.slice
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Subscript)
    }
    kinds = {name: _choices(of) for name, of in choices.items()}
    parts = {node.name: f"`{camel(node.name[0].lower() + node.name[1:])}`" for node in classes}
    events = [node for node in classes if _type(node)]
    others = [node for node in classes if not _type(node) and node.name != "Unknown"]
    lines = [EVENTS_HEAD]
    for node in (*events, *others):
        heading = f"## {_type(node)}" if _type(node) else f"### {parts[node.name].strip('`')}"
        if node is others[0]:
            lines += ["", "## What stands inside"]
        lines += ["", heading, *_described(node, kinds | parts)]
    return "\n".join(lines) + "\n"


def _described(node: ast.ClassDef, kinds: Mapping[str, str]) -> Iterator[str]:
    if said := ast.get_docstring(node):
        yield from ("", said)
    fields = list(_fields(node))
    if fields:
        yield from ("", "| Field | Value | Meaning |", "|---|---|---|")
    for name, kind, said in fields:
        yield f"| `{camel(name)}` | {_kind(kind, kinds)} | {' '.join(said.split())} |"


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning; of a property as well, where JSON has it."""
    for at, part in enumerate(node.body):
        if isinstance(part, ast.AnnAssign) and "ClassVar" not in ast.unparse(part.annotation):
            following = node.body[at + 1] if at + 1 < len(node.body) else None
            said = following.value if isinstance(following, ast.Expr) else None
            text = said.value if isinstance(said, ast.Constant) else ""
            yield ast.unparse(part.target), ast.unparse(part.annotation), str(text)
        elif isinstance(part, ast.FunctionDef) and part.decorator_list:
            yield part.name, ast.unparse(part.returns or part), ast.get_docstring(part) or ""


def _type(node: ast.ClassDef) -> str:
    found = (
        part.value.value
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and ast.unparse(part.target) == "type"
        and isinstance(part.value, ast.Constant)
    )
    return str(next(found, ""))


def _choices(of: ast.expr) -> str:
    return ", ".join(f"`{choice}`" for choice in ast.literal_eval(of))


def _kind(annotation: str, kinds: Mapping[str, str]) -> str:
    name = annotation.removesuffix(" | None")
    if item := re.fullmatch(r"tuple\[(\w+), \.\.\.\]", name):
        return f"list of {kinds[item[1]]}"
    return KINDS.get(name) or kinds[name]


MADE = {
    "docs/cli.md": (cli_page, "is out of date"),
    "docs/events.md": (events_page, "is out of date"),
    "docs/settings.md": (settings_page, "is out of date"),
    "template.yaml": (template, "names another widget than the one that is built"),
}


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, (make, _) in MADE.items():
        path = ROOT / name
        made = make()
        if path.exists() and path.read_text(encoding="utf-8") == made:
            continue
        stale.append(name)
        if not check:
            path.write_text(made, encoding="utf-8")
    for name in stale:
        print(f"{name} {MADE[name][1]}. Run: make docs" if check else f"Wrote {name}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
