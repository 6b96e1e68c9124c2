"""Makes the tools of kefu.toml: HTTP requests, and Python functions of the site.

Imported only if there are tools, to keep cold starts short.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from kefu.auth.identity import Identities
from kefu.bootstrap.base import Base, Connection
from kefu.bootstrap.site_functions import FunctionCalls, load_function
from kefu.errors import UpstreamUnavailable
from kefu.settings import Settings
from kefu.settings.fields import place_in
from kefu.settings.tools import ToolTable
from kefu.tools.http import HttpCall, http_run
from kefu.tools.own import own_tools
from kefu.tools.page import not_run
from kefu.tools.python import function_run
from kefu.tools.request import Send
from kefu.tools.tool import Arguments, Effect, Outcome, Run, Schema, Tool, Visitor
from kefu.tools.toolbox import Toolbox
from kefu.tools.user_token import user_signer
from kefu.upstream.tool_http import ToolHttp

if TYPE_CHECKING:
    from kefu.bootstrap.mcp_tools import McpSources

Secret = Callable[
    [str, str, Callable[[tuple[str, ...]], None]], Callable[[], Awaitable[None]] | None
]
"""Reads a secret that is stored in AWS, as `Base.secret` does."""


class Around(NamedTuple):
    """What the tools use of the service, or of a command of the terminal."""

    secret: Secret
    connections: list[Connection]
    """The tools add theirs, to be closed before a snapshot and at the end."""
    now: Callable[[], float]
    """Unix time."""
    notice: Callable[[str], None]
    """Called with failures of the site's functions, without data of visitors."""
    identities: Identities | None = None
    """Has the secret that signs the tokens of users for the tools' services."""
    own_port: int = 0
    """The port on which Kefu listens, to which no tool may connect; 0: none."""


def around_service(base: Base, identities: Identities | None) -> Around:
    now, notice, port = base.clock.now, base.log.notice, base.constants.own_port
    return Around(base.secret, base.connections, now, notice, identities, port)


def build_toolbox(base: Base, identities: Identities | None) -> Toolbox:
    """The tools of the service. Raises ConfigurationError."""
    settings = base.settings
    around = around_service(base, identities)
    own = own_tools(has_form=settings.has_contact)
    tools = [*build_tools(settings, around, own).values()]
    box = Toolbox(tools, of_pages=_of_pages(settings.tools))
    if sources := mcp_sources(settings, around, base.clock.monotonic):
        box = box._replace(servers=[sources.tools], problems=sources.problems)
    return box


def _of_pages(tables: Mapping[str, ToolTable]) -> Mapping[str, Tool]:
    """The tools that the visitor's page may describe, by name."""
    of_pages = {name: one for name, one in tables.items() if one.page}
    return {
        # The same click brings the same result, so an uncertain one may be repeated.
        name: _tool(name, one, "", {}, not_run)._replace(idempotent=True)
        for name, one in of_pages.items()
    }


def build_tools(
    settings: Settings, around: Around, own: Mapping[str, Tool] = MappingProxyType({})
) -> Mapping[str, Tool]:
    """The tools by their names, in the order of their tables.

    `own`: Kefu's tools, of which those are taken that have a table. Tools of MCP servers are not
    among the result: their servers describe them. Raises ConfigurationError.
    """
    parts, tools = _Parts(settings, around), dict[str, Tool]()
    for name, table in settings.tools.items():
        if table.kind == "http":
            tools[name] = _http(name, table, parts)
        elif table.kind == "python":
            tools[name] = _python(name, table, parts)
        elif name in own:
            tools[name] = own[name]._replace(title=table.title or own[name].title)
    return tools


def mcp_sources(
    settings: Settings, around: Around, monotonic: Callable[[], float]
) -> McpSources | None:
    """The tools of the MCP servers; None without any server. Raises ConfigurationError."""
    tables = {name: one for name, one in settings.tools.items() if one.kind == "mcp"}
    if not tables:
        return None
    from kefu.bootstrap.mcp_tools import (
        McpEnds,
        McpSource,
        McpSources,
        lock_place,
        read_lock,
        server_of,
    )
    from kefu.tools.mcp import McpClient

    parts, lock, sources = _Parts(settings, around), read_lock(lock_place(settings)), []
    ends = McpEnds()
    for name, table in tables.items():
        host = urlsplit(table.mcp).netloc.lower()
        headers = ToolHeaders(settings, name, around.secret)
        client = McpClient(table.mcp, headers.read, parts.send, ends)
        server = server_of(name, table, host)
        if table.user == "required":
            server = server._replace(sign=signer(host, around))
        locked = lock.get(name, {})
        sources.append(McpSource(server, client, locked, monotonic, around.notice))
    found = McpSources(sources, ends)
    around.connections.insert(0, found)  # to end before the connections that it uses
    return found


class _Parts:
    """What tools have in common, made with the first tool that needs it."""

    def __init__(self, settings: Settings, around: Around) -> None:
        self.settings = settings
        self.around = around

    @cached_property
    def send(self) -> Send:
        sender = ToolHttp(self.around.own_port)
        self.around.connections.append(sender)
        return sender

    @cached_property
    def calls(self) -> FunctionCalls:
        calls = FunctionCalls(self.around.notice)
        self.around.connections.append(calls)
        return calls


def _http(name: str, table: ToolTable, parts: _Parts) -> Tool:
    headers = ToolHeaders(parts.settings, name, parts.around.secret)
    host = urlsplit(table.url).netloc.lower()
    call = HttpCall(
        method=table.http_method,
        url=table.url,
        headers=headers,
        body=table.body,
        errors=table.errors,
        sign=signer(host, parts.around) if table.user == "required" else None,
    )
    run = headers.when_ready(http_run(call, parts.send, _effect(table)))
    made = _tool(name, table, table.description, table.input_schema, run)
    return made._replace(host=host)


def _python(name: str, table: ToolTable, parts: _Parts) -> Tool:
    site, schema = load_function(parts.settings, name, table)
    run = function_run(site, parts.calls.of(name), _effect(table))
    return _tool(name, table, site.description, schema, run)


def _effect(table: ToolTable) -> Effect:
    return "write" if table.is_write else "read"


def _tool(name: str, table: ToolTable, description: str, schema: Schema, run: Run) -> Tool:
    return Tool(
        name=name,
        description=description.strip(),
        parameters=schema,
        run=run,
        effect=_effect(table),
        title=table.title,
        approve=table.approve,
        preview=table.preview,
        idempotent=table.idempotent,
        after=table.after,
        links=table.links,
        needs_user=table.needs_user,
        bind=table.bind,
    )


def signer(host: str, around: Around) -> Callable[[Visitor], Mapping[str, str]] | None:
    """Makes the header that names a signed-in user to the service at a host."""
    if (identities := around.identities) is None:
        return None
    return user_signer(lambda: identities.signing_secret, host, around.now)


class ToolHeaders:
    """The headers of the requests of a table, of which some may be stored in AWS."""

    def __init__(self, settings: Settings, name: str, secret: Secret) -> None:
        given = settings.tool_endpoint(name).headers
        places = {header: place for header, text in given.items() if (place := place_in(text))}
        self._missing = set(places)
        self._values = {header: text for header, text in given.items() if header not in places}
        found = [
            secret(place, f"{header} of [tools.{name}]", partial(self._set, header))
            for header, place in places.items()
        ]
        self._waits = [wait for wait in found if wait]

    def _set(self, header: str, secrets: tuple[str, ...]) -> None:
        if len(secrets) > 1:
            raise ValueError("holds more than one value")
        self._values[header] = secrets[0]
        self._missing.discard(header)

    def __call__(self) -> Mapping[str, str]:
        """Raises UpstreamUnavailable if a value could not be read."""
        if self._missing:
            raise UpstreamUnavailable("A secret of the tool could not be read.")
        return self._values

    async def ready(self) -> None:
        """Wait for a short time until the values are read."""
        await asyncio.gather(*(wait() for wait in self._waits))

    async def read(self) -> Mapping[str, str]:
        """The headers, after a wait for them. Raises UpstreamUnavailable."""
        await self.ready()
        return self()

    def when_ready(self, run: Run) -> Run:
        """The same with a wait before it."""
        if not self._waits:
            return run

        async def waiting(arguments: Arguments, visitor: Visitor, key: str) -> Outcome:
            await self.ready()
            return await run(arguments, visitor, key)

        return waiting
