"""docs/events.md, from the types of the events and the strings below their fields."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kefu.events.fields import camel

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

EVENTS = Path(__file__).parents[1] / "functions/kefu/events"
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
