"""Checks the tools that wait for the visitor's click: the question, and what it can show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kefu.settings.tools import ToolTable, Wrong

Properties = Mapping[str, Mapping[str, object]]
"""The JSON Schemas of parameters by their names."""


def approval_problems(table: ToolTable) -> Iterator[Wrong]:
    """A9: a write has a question; a read has none. MCP servers and pages say it of their tools."""
    if table.kind in ("mcp", "page"):
        return
    if table.is_write and not table.approve:
        hint = ' (or effect = "read", if it changes nothing)'
        says = 'is a write, so it needs a question to the visitor: approve = "Cancel order {id}?"'
        yield "", says + (hint if table.kind == "python" else "")
    if not table.is_write:
        for key in sorted({"approve", "preview", "idempotent"} & table.model_fields_set):
            yield key, 'is for writes: remove it, or write effect = "write"'


def card_problems(table: ToolTable, parameters: Properties) -> Iterator[Wrong]:
    """A9: the placeholders of the question, and the arguments that it cannot show.

    `parameters`: all of the tool. Those of a Python function are known when it is loaded.
    """
    from kefu.tools.card import is_free_text

    if not table.is_write:
        return
    for text in table.approve.values():
        yield from (("approve", says) for says in _question(table, text, parameters))
    for name, schema in parameters.items():
        if not table.preview and name not in table.bind and is_free_text(schema):
            says = "is free text, so the model could choose what the visitor cannot judge: "
            if table.kind == "mcp":
                yield "preview", f"{name} {says}show what it stands for by a preview"
                continue
            says += (
                "limit it by enum or by a pattern from ^ to $, or show what it stands for: preview"
            )
            if table.kind == "http":
                yield f"parameters.{name}", says
            else:
                yield "python", f"{name} {says}"


def _question(table: ToolTable, text: str, parameters: Properties) -> Iterator[str]:
    from kefu.tools.card import PLACEHOLDER

    is_mcp = table.kind == "mcp"  # its parameters are its server's
    if "{" in (rest := PLACEHOLDER.sub("", text)) or "}" in rest:
        yield "a placeholder must be {NAME}, with letters, digits, _ and . in it"
    for path in PLACEHOLDER.findall(text):
        name = path.partition(".")[0]
        if name in table.optional:
            advice = "take it out of the question" if is_mcp else "require it"
            yield f"{name} can be left out, and the question could not be asked then: {advice}"
        elif name not in parameters and name not in table.bind and not table.preview:
            advice = "" if is_mcp else "add it, or "
            yield f"{name} is no parameter: {advice}name a preview whose result has it"
