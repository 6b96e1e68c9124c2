"""Writes what is made from the source, pages of docs/ and the widget's hash in template.yaml;
`--check` only compares them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from api_reference import api_page
from event_reference import events_page
from kefu.cli.parser import parser
from kefu.settings import SECTIONS
from kefu.settings.example import is_rare
from kefu.settings.loading import key_of
from kefu.settings.tools import McpToolTable, ToolTable

ROOT = Path(__file__).parents[1]
MANIFEST = ROOT / "functions/kefu/web/static/widget/chat-widget.json"

SETTINGS_HEAD = """\
<!-- Made by `make docs` from functions/kefu/settings/. -->
# Settings

A setting is a key in `kefu.toml`, which [`kefu init`](configuration.md) writes, or an environment
variable, which wins. An empty variable counts as unset. A wrong value stops the start with a
sentence that names it. A setting without a key is a secret, and has a variable alone.

`KEFU_CONFIG` names another file than `kefu.toml` in the current folder."""


TOOLS_HEAD = """\
## Tools

`[tools.NAME]` is a tool that the model may call; it has one of the keys `url`, `mcp` and `python`.
A table with the name of a tool of Kefu, `search_pages` or `ask_person`, enables that tool.
`kefu tools` shows what the model is given, and `kefu doctor` what is wrong."""


def settings_page() -> str:
    lines = [SETTINGS_HEAD]
    for section in SECTIONS:
        if all(map(is_rare, section.model_fields.values())):
            continue
        lines += ["", f"## {section.TITLE}", ""]
        lines += ["| Key | Variable | Value | Default | Meaning |", "|---|---|---|---|---|"]
        lines += map(_row, _documented(section, rare=False))
    lines += ["", TOOLS_HEAD, ""]
    lines += ["| Key | Value | Default | Meaning |", "|---|---|---|---|"]
    # Those that a tool of an MCP server has, too, come last.
    fields = sorted(ToolTable.model_fields.items(), key=lambda one: one[0] in _SHOWN)
    lines += map(_tool_row, fields)
    lines += ["", "## Rarely changed", ""]
    lines += ["| Key | Variable | Value | Default | Meaning |", "|---|---|---|---|---|"]
    for section in SECTIONS:
        lines += map(_row, _documented(section, rare=True))
    return "\n".join(lines) + "\n"


_SHOWN = McpToolTable.model_fields.keys()


def _tool_row(named: tuple[str, FieldInfo]) -> str:
    name, field = named
    cells = (f"`tools.NAME.{name}`", _value(field), _default(field), field.description or "")
    return f"| {' | '.join(cells)} |"


def _documented(section: type[BaseModel], *, rare: bool) -> Iterator[FieldInfo]:
    fields = section.model_fields.values()
    return (field for field in fields if not field.exclude and is_rare(field) == rare)


def _row(field: FieldInfo) -> str:
    key = "" if isinstance(field.default, SecretStr) else ".".join(key_of(field))
    cells = (
        f"`{key}`" if key else "",
        f"`{field.alias}`" if field.alias else "",
        _value(field),
        _default(field),
        field.description or "",
    )
    return "| " + " | ".join(cells) + " |"


def _value(field: FieldInfo) -> str:
    kind = field.annotation
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return ", ".join(f"`{choice}`" for choice in get_args(one) if choice)
    if kind is bool or set(get_args(kind)) == {bool, NoneType}:
        return "`true`, `false`"
    if kind is int or kind is float or {int, float} & set(get_args(kind)):
        whole = kind is int or int in get_args(kind)
        return ("whole number" if whole else "number") + _range(field)
    if get_origin(kind) is dict:
        return "text, or table" if "by language" in (field.description or "") else "table"
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
    return "" if default is None or default in ("", (), {}) else f"`{default}`"


CLI_HEAD = """\
<!-- Made by `make docs` from functions/kefu/cli/arguments.py. -->
# The command line

Each command with its arguments; `--help` shows them, too. [The terminal chat](terminal.md) shows it
at work."""


def cli_page() -> str:
    """Not by argparse, whose layout changes with Python's version."""
    lines = [CLI_HEAD]
    for command in _commands(parser()):
        lines += ["", f"## `{command.prog}`", "", _text(command.description or "")]
        lines.append("")
        for group in command._action_groups:
            shown = [_argument(one) for one in group._group_actions if _is_shown(one)]
            if shown and group.title not in ("positional arguments", "options"):
                lines += ["", f"{str(group.title).capitalize()}:", ""]
            lines += shown
        for either in command._mutually_exclusive_groups:
            names = " or ".join(f"`{one.option_strings[-1]}`" for one in either._group_actions)
            lines += ["", f"Either {names}{'' if either.required else ', or neither'}."]
        lines += ["", _text(command.epilog or "")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _is_shown(argument: argparse.Action) -> bool:
    return argument.help != argparse.SUPPRESS and "--help" not in argument.option_strings


def _argument(argument: argparse.Action) -> str:
    """A line of a list; for subcommands, a line each."""
    if isinstance(argument, argparse._SubParsersAction):
        return "\n".join(
            f"- [`{one.prog}`](#{one.prog.replace(' ', '-')}): {below.help}"
            for one, below in zip(argument.choices.values(), argument._choices_actions, strict=True)
        )
    value = argument.metavar or "|".join(argument.choices or ()) or argument.dest.upper()
    value = "" if argument.nargs == 0 else str(value)
    value += " ..." if argument.nargs in ("*", "+") else ""
    names = argument.option_strings or [""]
    shown = ", ".join(f"`{' '.join(filter(None, (name, value)))}`" for name in names)
    meaning = (argument.help or "") % {**vars(argument), "prog": "kefu"}
    return f"- {shown}: {meaning}" if meaning else f"- {shown}"


def _text(text: str) -> str:
    """A paragraph; a list if its lines are indented, such as that of the exit codes."""
    text = text[:1].upper() + text[1:]
    lines = [line.strip() for line in text.strip().splitlines()]
    if not re.search(r"^  ", text, re.MULTILINE):
        return " ".join(lines)
    return "\n".join([lines[0], "", *(re.sub(r"^(.+?)  +", r"- \1: ", one) for one in lines[1:])])


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


MADE = {
    "docs/api.md": (api_page, "is out of date"),
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
