"""Which tools of an MCP server the model is offered: those that the owner has allowed and read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kefu.errors import UpstreamUnavailable
from kefu.tools.mcp import McpCall, McpClient
from kefu.tools.mcp_wire import Json, McpFailed
from kefu.tools.tool import Arguments, Effect, Outcome, Run, Texts, Tool, Visitor

MAX_DEFINITION: Final = 8_000
"""Characters of a tool's description and schema together."""

LOCK_FILE: Final = "kefu.tools.lock"
"""The name of the file with the digests, beside kefu.toml. `kefu tools lock` writes it."""


class McpWords(NamedTuple):
    """What the owner adds to a tool of an MCP server: the fields of `Tool`."""

    effect: Effect | None = None
    """None: as the server says."""
    title: Texts = MappingProxyType({})
    approve: Texts = MappingProxyType({})
    preview: str = ""
    idempotent: bool = False
    bind: Mapping[str, str] = MappingProxyType({})


class McpServer(NamedTuple):
    """The table of an MCP server in the settings."""

    table: str
    """The name of the table."""
    allow: Sequence[str]
    """The names of its tools that the model may call."""
    own: Mapping[str, McpWords] = MappingProxyType({})
    """By the name of the tool."""
    host: str = ""
    after: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    needs_user: bool = False
    sign: Callable[[Visitor], Mapping[str, str]] | None = None
    """Makes the headers that name a signed-in user."""


class Offer(NamedTuple):
    tools: Sequence[Tool]
    refused: Sequence[str] = ()
    """A sentence for each allowed tool that is not offered: why, and what the owner can do."""


class _Refused(Exception):
    """The tool is not offered; the message says why."""


def digest_of(listed: Json) -> str:
    """Identifies all that a server says about a tool and Kefu uses.

    The hint that a tool only reads counts, because a call without a click depends on it. So does
    the title, which visitors read.
    """
    read: Json = {
        "description": _description(listed),
        "title": _title(listed),
        "inputSchema": listed.get("inputSchema"),
        "readOnlyHint": _reads(listed),
    }
    text = json.dumps(read, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def offer_of(
    listed: Sequence[Json], server: McpServer, locked: Mapping[str, str], client: McpClient
) -> Offer:
    """The tools to offer. `locked`: the digests of the tools that the owner has read, by name."""
    by_name = {str(one.get("name")): one for one in reversed(listed)}
    tools, refused = list[Tool](), list[str]()
    for name in server.allow:
        try:
            tools.append(_offered(by_name.get(name), name, server, locked.get(name), client))
        except _Refused as reason:
            refused.append(f"The tool {name} of [tools.{server.table}] {reason}.")
    return Offer(tools, refused)


def _offered(
    listed: Json | None, name: str, server: McpServer, locked: str | None, client: McpClient
) -> Tool:
    """Raises _Refused."""
    if listed is None:
        raise _Refused("is not on its server: remove it from `allow`, or correct its name")
    if locked is None:
        raise _Refused(f"is not in {LOCK_FILE}: run `kefu tools lock`, and read what it prints")
    if locked != digest_of(listed):
        raise _Refused(
            f"is not offered, because its server has changed its description since {LOCK_FILE} was "
            "written: run `kefu tools lock`, and read what it prints"
        )
    schema = _checked_schema(listed)
    own = server.own.get(name, McpWords())
    effect: Effect = own.effect or ("read" if _reads(listed) else "write")
    if effect == "write" and not own.approve:
        raise _Refused(
            "changes something, and has no question for the visitor: write "
            f'[tools.{server.table}.tools.{name}] with approve = "…?", or effect = "read"'
        )
    return Tool(
        name=name,
        description=_description(listed),
        parameters=_without(schema, own.bind),
        run=_run(client, name, schema, effect, server.sign),
        effect=effect,
        title=own.title or {"": _title(listed) or name},
        approve=own.approve,
        preview=own.preview,
        idempotent=own.idempotent,
        host=server.host,
        after=server.after,
        links=server.links,
        needs_user=server.needs_user,
        bind=own.bind,
    )


def _checked_schema(listed: Json) -> Json:
    """The schema of a tool's arguments. Raises _Refused for one that no model should read."""
    schema = listed.get("inputSchema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise _Refused("has no schema of an object for its arguments")
    if not isinstance(schema.get("properties", {}), dict):
        raise _Refused("has no schema of an object for its arguments")
    if len(_description(listed)) + len(json.dumps(schema)) > MAX_DEFINITION:
        raise _Refused(f"has a description and schema of more than {MAX_DEFINITION} characters")
    return schema


def _without(schema: Json, bind: Mapping[str, str]) -> Json:
    """The schema without the parameters that the model neither sees nor sets."""
    if not bind:
        return schema
    kept = {name: one for name, one in schema.get("properties", {}).items() if name not in bind}
    required = [name for name in schema.get("required") or () if name not in bind]
    return {**schema, "properties": kept, "required": required}


def _description(listed: Json) -> str:
    return str(listed.get("description") or "")


def _title(listed: Json) -> str:
    annotations = listed.get("annotations")
    named = annotations.get("title") if isinstance(annotations, dict) else ""
    return str(listed.get("title") or named or "")[:100]


def _reads(listed: Json) -> bool:
    annotations = listed.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


def _run(
    client: McpClient,
    name: str,
    schema: Json,
    effect: Effect,
    sign: Callable[[Visitor], Mapping[str, str]] | None,
) -> Run:
    async def run(arguments: Arguments, visitor: Visitor, key: str) -> Outcome:
        try:
            signed = sign(visitor) if sign else {}
        except UpstreamUnavailable as error:
            return Outcome(error.message, "failed")
        headers = {**signed, "Idempotency-Key": key} if key else signed
        call = McpCall(schema, headers, effect == "read")
        try:
            return outcome_of(await client.call(name, arguments, call))
        except McpFailed as failed:
            unsure = effect == "write" and not failed.certain
            text = f"{name} failed: the server {failed}."
            return Outcome(text, "unsure" if unsure else "failed")

    return run


def outcome_of(result: Json) -> Outcome:
    """What the model reads of a result."""
    structured = result.get("structuredContent")
    if structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    else:
        blocks = result.get("content")
        text = "\n".join(_texts(blocks if isinstance(blocks, list) else ()))
    if result.get("isError") is True:
        return Outcome(text or "The tool failed.", "failed")
    return Outcome(text)


def _texts(blocks: Sequence[object]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, dict):
            yield _text(block)


def _text(block: Mapping[str, Any]) -> str:
    """The text of one block of a result; other content is named."""
    kind, resource = block.get("type"), block.get("resource")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "resource" and isinstance(resource, dict):
        name = f"[resource {resource.get('uri', '')}]"
        return str(resource.get("text", name))
    if kind == "resource_link":
        return f"[{block.get('name', 'resource')}: {block.get('uri', '')}]"
    media = f" {block['mimeType']}" if "mimeType" in block else ""
    return f"[{kind}{media}, which is not shown]"
