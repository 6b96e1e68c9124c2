"""The tools of a service, of which each visitor is offered some."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kefu.tools.tool import Tool, Visitor, bound

ReadTools = Callable[[], Awaitable[Sequence[Tool]]]
"""The tools of an MCP server, as far as they are known in a short time. Raises nothing."""


class Toolbox(NamedTuple):
    tools: Sequence[Tool]
    servers: Sequence[ReadTools] = ()
    of_pages: Mapping[str, Tool] = MappingProxyType({})
    """The tools that the visitor's page may describe, by name."""
    problems: Callable[[], Sequence[str]] = tuple
    """Sentences for the operator: why tools of a server are missing, as far as it is known."""

    async def missing(self) -> Sequence[str]:
        """The `problems`, after a short wait for servers that were never asked."""
        for read in self.servers:
            await read()
        return self.problems()

    async def offered(
        self, names: Sequence[str] | None, visitor: Visitor, of_page: Iterable[Tool] = ()
    ) -> dict[str, Tool]:
        """The tools for a visitor, by name. `names`: those of the preset; None for all.

        `of_page`: those of `of_pages` that the visitor's page has described.
        """
        found = [*self.tools, *of_page]
        for read in self.servers:
            found += await read()
        return {one.name: one for one in _for_visitor(found, names, visitor)}


def _for_visitor(
    tools: Iterable[Tool], names: Sequence[str] | None, visitor: Visitor
) -> Iterable[Tool]:
    """None that needs a user or a claim which the visitor does not have."""
    for tool in tools:
        is_known = bool(visitor.user) or not tool.needs_user
        is_bound = all(bound(visitor, path) for path in tool.bind.values())
        if (names is None or tool.name in names) and is_known and is_bound:
            yield tool
