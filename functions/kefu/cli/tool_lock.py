"""`kefu tools lock`: accepts the tools of MCP servers as they are now."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from kefu.bootstrap.mcp_tools import McpSource, digests_of, lock_place, lock_text, read_lock
from kefu.bootstrap.tool_trial import open_tools
from kefu.settings import Settings
from kefu.tools.mcp_wire import Json


async def lock(settings: Settings, notice: Callable[[str], None]) -> int:
    """Print the tools that are new or have changed, and write the lock.

    A server that does not answer keeps its digests, and the exit code is 1. Raises
    ConfigurationError, and OSError for a file that cannot be written.
    """
    async with open_tools(settings, lambda _: None) as opened:
        servers = opened.servers
    if not servers:
        sys.stdout.write("There is no MCP server. A table [tools.NAME] with mcp = names one.\n")
        return 0
    place, locked, is_whole = lock_place(settings), dict[str, Mapping[str, str]](), True
    before = read_lock(place)
    for one in servers:
        table, known = one.server.table, before.get(one.server.table, {})
        locked[table] = known if one.trouble else digests_of(one.listed, one.server.allow)
        sys.stdout.write("".join(f"{line}\n" for line in _lines(one, known, locked[table])))
        for problem in _missing(one, locked[table]):
            notice(problem)
            is_whole = False
    place.write_text(lock_text(locked), encoding="utf-8")
    number = sum(map(len, locked.values()))
    sys.stdout.write(f"{place} has the digests of {number} tools. Commit it beside kefu.toml.\n")
    return 0 if is_whole else 1


def _missing(source: McpSource, digests: Mapping[str, str]) -> Sequence[str]:
    """Sentences for a server that does not answer, and for allowed tools that it has not."""
    if source.trouble:
        return [source.trouble]
    table = source.server.table
    names = [name for name in source.server.allow if name not in digests]
    return [f"The server of [tools.{table}] has no tool {name}." for name in names]


def _lines(source: McpSource, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """What an owner has to read: all that a server says about new and changed tools."""
    listed = {str(one.get("name")): one for one in reversed(source.listed)}
    for name, digest in after.items():
        is_same = before.get(name) == digest
        state = "unchanged" if is_same else "has changed" if name in before else "new"
        yield f"[tools.{source.server.table}] {name}: {state}"
        if not is_same and name in listed:
            yield from _described(listed[name])


def _described(tool: Json) -> Iterator[str]:
    annotations = tool.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    title = tool.get("title") or hints.get("title")
    if title:
        yield f"    title: {_visible(str(title))}"
    yield f"    says that it only reads: {'yes' if hints.get('readOnlyHint') is True else 'no'}"
    for line in str(tool.get("description") or "").split("\n"):
        yield f"    {_visible(line)}"
    schema = json.dumps(tool.get("inputSchema"), ensure_ascii=False)
    yield f"    arguments: {_visible(schema)}"


def _visible(text: str) -> str:
    """The text with escapes for characters that a reader would not see, but the model would."""
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
