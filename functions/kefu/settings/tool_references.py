"""Checks the names of tools: that each is of one tool, and that those in other tables are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kefu.settings.sessions import Preset
from kefu.settings.tools import BUILT_IN, Problem, ToolTable, Wrong, names_of, refused


def reference_problems(
    name: str, table: ToolTable, tables: Mapping[str, ToolTable]
) -> Iterator[Wrong]:
    """The names of other tools in a table."""
    known = names_of(tables)
    for other in table.after:
        if other not in known:
            yield "after", unknown_tool(other, known)
    if table.preview:
        yield from (("preview", says) for says in _preview(name, table, tables))
    for own in table.tools.values():
        if own.preview and own.preview not in known:
            yield "tools", unknown_tool(own.preview, known)


def _preview(name: str, table: ToolTable, tables: Mapping[str, ToolTable]) -> Iterator[str]:
    """A preview gets those arguments of the write that it has parameters for."""
    other = tables.get(table.preview)
    if not other or other.kind not in ("http", "python"):
        of_servers = [one for its in tables.values() for one in its.allow]
        if table.preview not in of_servers:
            known = [one for one, its in tables.items() if its.kind in ("http", "python")]
            yield unknown_tool(table.preview, [*{*known, *of_servers} - {name}])
    elif other.is_write:
        yield f"{table.preview} is a write: name a tool that reads"
    elif table.kind == other.kind == "http":
        given = table.parameters.keys() | table.bind.keys()
        needed = other.parameters.keys() - other.bind.keys() - {*other.optional} - given
        if needed:
            yield f"{table.preview} needs {min(needed)}, which is no parameter of this tool"


def same_names(tables: Mapping[str, ToolTable]) -> Iterator[Problem]:
    """The tools of MCP servers that have the name of another tool."""
    owners = {name: name for name, one in tables.items() if one.kind != "mcp"}
    owners |= {name: name for name in BUILT_IN}
    for table_name, table in tables.items():
        for name in table.allow:
            if name in owners:
                says = f"{name} is the name of a tool in [tools.{owners[name]}] already: allow one"
                yield (table_name, "allow"), says
            owners[name] = table_name


def check_with_presets(
    tables: Mapping[str, ToolTable], presets: Mapping[str, Preset], *, has_users: bool
) -> None:
    """`has_users`: whether the site signs its users' tokens. Raises ValidationError."""
    known, problems = names_of(tables), list[Problem]()
    for name, table in tables.items():
        binds = table.bind or any(one.bind for one in table.tools.values())
        if (table.user or binds) and not has_users:
            key = "user" if table.user else "bind" if table.bind else "tools"
            says = "needs users who have signed in: set KEFU_IDENTITY_SECRETS, docs/identity.md"
            problems.append((("tools", name, key), says))
    for name, preset in presets.items():
        unknown = [one for one in preset.tools or () if one not in known]
        problems += [(("presets", name, "tools"), unknown_tool(one, known)) for one in unknown]
    if problems:
        raise refused(problems)


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """The sentence for a name of no tool, with the most similar one."""
    import difflib  # here: only for a message

    names = list(known)
    near = difflib.get_close_matches(name, names, 1, 0.6)
    hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(names) or 'none'}."
    return f"{name} is not a tool. {hint}"
