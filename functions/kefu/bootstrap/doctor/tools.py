"""Checks the tools: secrets of their headers, MCP servers, and what a site should think about."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping

from kefu.bootstrap.doctor.finding import Finding
from kefu.bootstrap.doctor.model import read_keys
from kefu.bootstrap.tool_trial import OpenTools, open_tools
from kefu.settings import Settings
from kefu.settings.fields import place_in
from kefu.settings.tools import TOO_MANY
from kefu.stores.aws import text_at
from kefu.tools.card import PLACEHOLDER
from kefu.tools.tool import Tool

_OF_A_CUSTOMER = re.compile(
    r"(^|_)(id|no|nr|number|ref|reference|account|booking|customer|email|invoice|order|phone"
    r"|ticket|user)($|_)|Id$|Number$",
    re.ASCII,
)
"""The name of a parameter that probably tells customers or their orders apart."""


def check_tools(settings: Settings) -> Iterator[Finding]:
    """Raises ConfigurationError."""
    yield from _secrets(settings)
    said = list[str]()
    opened = asyncio.run(_opened(settings, said))
    for sentence in said:
        yield Finding(sentence, "kefu tools")
    for tool in opened.tools.values():
        yield from _reads(tool) if tool.effect == "read" else _writes(tool, settings)
    if len(opened.tools) > TOO_MANY:
        yield Finding(
            f"The model is given {len(opened.tools)} tools: it chooses worse among more than "
            f"{TOO_MANY}, and each request costs more tokens.",
            'kefu tools  # then, in kefu.toml:\n[presets.NAME]\ntools = ["..."]',
            "note",
        )
    if "ask_person" in settings.tools and "ask_person" not in opened.tools:
        yield Finding(
            "[tools.ask_person] does nothing: visitors cannot reach a person.",
            'In kefu.toml:\n[contact]\nform = ["email", "message"]',
        )


async def _opened(settings: Settings, said: list[str]) -> OpenTools:
    async with open_tools(settings, said.append) as opened:
        return opened


def _secrets(settings: Settings) -> Iterator[Finding]:
    """Those that are stored in AWS. Without an environment variable no start is possible."""
    for name, table in settings.tools.items():
        for header, text in table.headers.items():
            if place := place_in(text):
                what = f"{header} of [tools.{name}]"
                keys, findings = read_keys(place, text_at, what)
                yield from findings
                if len(keys) > 1:
                    yield Finding(f"{what}: {place} holds more than one value.", f"# {place}")


def _reads(tool: Tool) -> Iterator[Finding]:
    """A11: who may ask for one order may ask for each."""
    if tool.is_own or tool.needs_user or tool.bind:
        return
    free = [name for name, schema in _properties(tool).items() if _is_key(name, schema)]
    if free:
        yield Finding(
            f"Each visitor can ask {tool.name} for any {free[0]}: is nothing of it private?",
            f'In kefu.toml:\n[tools.{tool.name}]\nuser = "required"',
            "note",
        )


def _is_key(name: str, schema: object) -> bool:
    limited = isinstance(schema, dict) and ("enum" in schema or schema.get("type") == "boolean")
    return bool(_OF_A_CUSTOMER.search(name)) and not limited


def _writes(tool: Tool, settings: Settings) -> Iterator[Finding]:
    if not settings.keeps_chats:
        yield Finding(
            f"{tool.name} is a write, which needs a stored chat, and no chats are stored.",
            "In kefu.toml:\n[sessions]\nenabled = true",
            "note",
        )
    for text in tool.approve.values():
        shown = {path.partition(".")[0] for path in PLACEHOLDER.findall(text)}
        if hidden := _properties(tool).keys() - shown:
            yield Finding(
                f"The question of {tool.name} does not show {min(hidden)}, which the model sets.",
                f'In kefu.toml:\n[tools.{tool.name}]\napprove = "... {{{min(hidden)}}}?"',
                "note",
            )


def _properties(tool: Tool) -> Mapping[str, object]:
    found = tool.parameters.get("properties")
    return found if isinstance(found, dict) else {}
