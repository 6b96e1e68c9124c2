"""Opens the tools of the settings without a service, for `kefu tools` and `kefu tools call`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kefu.auth.identity import Identities
from kefu.bootstrap.base import Connection
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.secrets import AUDIENCE
from kefu.bootstrap.tools import Around, build_tools, mcp_sources
from kefu.context.tokens import estimate_calibrated
from kefu.relay.redaction import Secrets
from kefu.settings import Settings
from kefu.settings.fields import place_of
from kefu.stores.aws import text_at
from kefu.stores.referenced_keys import cause_of, secrets_in
from kefu.tools.own import own_tools
from kefu.tools.tool import Tool, Visitor, bound, definition
from kefu.tools.use import Use
from kefu.tools.workbench import Surroundings, Workbench

if TYPE_CHECKING:
    from kefu.bootstrap.mcp_tools import McpSource


class OpenTools(NamedTuple):
    tools: Mapping[str, Tool]
    problems: Sequence[str]
    """Why tools of MCP servers are missing."""
    identity_ready: Callable[[], Awaitable[None]] | None
    """Reads the secrets that sign users' tokens, if they are stored in AWS."""
    servers: Sequence[McpSource] = ()


class TrialCall(NamedTuple):
    name: str
    arguments: Mapping[str, str]
    """As they are typed: JSON, for parameters that are no texts."""
    user: str = ""
    """The id of a signed-in user; "" for an anonymous visitor."""


class NotTried(Exception):
    """The call is not possible; the message says why."""


@asynccontextmanager
async def open_tools(
    settings: Settings, notice: Callable[[str], None], *, servers: bool = True
) -> AsyncIterator[OpenTools]:
    """`notice` is called with failures. `servers`: also the tools of MCP servers.

    Raises ConfigurationError.
    """
    clock, connections, secret = SystemClock(), list[Connection](), partial(_secret, notice)
    users = Identities(settings.identity_keys, AUDIENCE) if settings.identity_secrets else None
    around = Around(secret, connections, clock.now, notice, users)
    own = own_tools(has_form=settings.has_contact)
    tools = {**build_tools(settings, around, own)}
    sources = mcp_sources(settings, around, clock.monotonic) if servers else None
    place = place_of(settings.identity_secrets)
    ready = secret(place, "the identity secrets", users.set_secrets) if users else None
    try:
        if sources:
            await sources.read()
            tools |= {one.name: one for one in await sources.tools()}
        problems = sources.problems() if sources else ()
        yield OpenTools(tools, problems, ready, sources.sources if sources else ())
    finally:
        for one in connections:
            await one.aclose()


async def try_call(
    settings: Settings,
    call: TrialCall,
    ask: Callable[[str], bool],
    notice: Callable[[str], None],
) -> Use:
    """Call a tool as an answer does; returns the call with its result.

    `ask` is called with the question of a card, and says whether to go on. Raises NotTried,
    ConfigurationError.
    """
    table = settings.tools.get(call.name)
    is_here = table and table.kind != "mcp" and table.preview in ("", *settings.tools)
    async with open_tools(settings, notice, servers=not is_here) as opened:
        tool, visitor = _tool(opened, call.name), Visitor(user=call.user)
        if tool.needs_user and not call.user:
            raise NotTried(f"{tool.name} is for signed-in users: name one with --user ID.")
        if missing := [one for one in tool.bind.values() if not bound(visitor, one)]:
            raise NotTried(f"{tool.name} needs {missing[0]}, which only a real user token has.")
        if tool.is_own:
            raise NotTried(f"{tool.name} works in a chat only: try it with `kefu serve`.")
        if opened.identity_ready:
            await opened.identity_ready()
        return await _used(_workbench(settings, opened, visitor), call, ask)


def tokens_of(tool: Tool) -> int:
    """About so many tokens of each request to the model."""
    return estimate_calibrated(json.dumps(definition(tool), ensure_ascii=False))


async def _used(bench: Workbench, call: TrialCall, ask: Callable[[str], bool]) -> Use:
    schemas = bench.tools[call.name].parameters.get("properties")
    known = schemas if isinstance(schemas, dict) else {}
    given = {name: _value(known.get(name), text) for name, text in call.arguments.items()}
    (use,) = bench.take([(call.name, json.dumps(given))], 0)
    if use.state == "asked":
        use = await bench.ask(use)
        if use.state == "asked" and not ask(use.card):
            raise NotTried("Not sent.")
    return use if use.state == "failed" else await bench.run(use)


def _value(schema: object, text: str) -> object:
    """The value of a parameter that was typed."""
    if not isinstance(schema, dict) or schema.get("type") == "string":
        return text
    if text in (schema.get("enum") or ()):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text  # the check of the arguments says what is wrong


def _workbench(settings: Settings, opened: OpenTools, visitor: Visitor) -> Workbench:
    async def ask(_use: Use) -> bool:
        return True  # `_used` has asked

    clock, hide = SystemClock(), Secrets(settings.secrets).hide
    around = Surroundings(clock.now, clock.monotonic, redact=hide, ask=ask)
    # The `Idempotency-Key` is made of the id: each trial has its own.
    return Workbench(opened.tools, visitor, around, question_id=int(1000 * clock.now()))


def _tool(opened: OpenTools, name: str) -> Tool:
    if found := opened.tools.get(name):
        return found
    from kefu.settings.tool_references import unknown_tool

    raise NotTried(" ".join([unknown_tool(name, opened.tools), *opened.problems]))


def _secret(
    notice: Callable[[str], None],
    place: str,
    what: str,
    set_secrets: Callable[[tuple[str, ...]], None],
) -> Callable[[], Awaitable[None]] | None:
    """Reads a secret once, as `Base.secret` does again and again."""
    if not place:
        return None

    async def read() -> None:
        try:
            set_secrets(secrets_in(await asyncio.to_thread(text_at, place)))
        except Exception as error:  # noqa: BLE001 - whatever boto3 raises
            notice(f"{what} cannot be read from {place}: {cause_of(error)}")

    return read
