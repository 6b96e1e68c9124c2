"""Generates docs/events.md from the classes of the events and their docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kefu.agent.events.fields import camel

EVENTS_HEAD = """\
<!-- Made by `make docs` from functions/kefu/agent/events. -->
# Events of a session

`kefu chat` appends the events of a session to the log `history/<session_id>.jsonl`, by one process
at a time: one JSON object per line, in UTF-8. Every line has these fields:

| Field | Value | Meaning |
|---|---|---|
| `v` | `1` | version of the format |
| `ts` | text | ISO 8601 in UTC, with milliseconds; may decrease if the clock is set back |
| `session_id` | text | `sess_` and a ULID |
| `seq` | whole number | sequence number from 1; a gap means lost lines |
| `turn` | whole number | number of the turn, from 1; absent outside of turns |
| `step` | whole number | step of the turn, from 0; a step is a model call and its tool call |
| `type` | text | type of the event, one of those below |

`content` and `role` are at the top level of the line; all other fields are in the object `meta`. A
field without a value is absent, never null.

Readers must ignore unknown types and fields, and an incomplete last line, which remains if the
process is killed while it writes.

The `tokens` of a turn are the sum over its `assistant` and `budget` lines, those of a session the
sum over its turns. [Objects in fields](#objects-in-fields) are at the end."""

EVENTS = Path(__file__).parents[1] / "functions/kefu/agent/events"
KINDS = {
    "str": "text",
    "int": "whole number",
    "bool": "`true`, `false`",
    "Mapping[str, object]": "object",
}


def events_page() -> str:
    """The page: each class with its docstring, and its fields with theirs."""
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
            lines += ["", "## Objects in fields"]
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
    """Yields name, type and meaning of each field, and of each property."""
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
