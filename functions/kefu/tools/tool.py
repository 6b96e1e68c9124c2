"""Defines a tool, and who asks for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Schema = Mapping[str, object]
"""The JSON Schema of an object, as in the `parameters` of OpenAI's tools."""

Arguments = Mapping[str, object]
"""The arguments of a call by parameter: JSON values."""

Texts = Mapping[str, str]
"""A text by language tag, such as `{"": "Cancel it?", "zh": "取消？"}`; `""` for all others."""

Effect = Literal["read", "write"]
"""A write changes something, so it waits for the visitor's click."""


class Visitor(NamedTuple):
    """The visitor for whom a tool runs."""

    session: str = ""
    """The id of the stored chat; "" for a conversation that is not stored."""
    user: str = ""
    """The user of the site, from a checked user token; "" for an anonymous visitor."""
    claims: Mapping[str, str] = MappingProxyType({})
    """The private claims of the user token. Never facts from the page, which can be forged."""
    language: str = ""
    """The visitor's language, such as `zh-CN`."""


class Outcome(NamedTuple):
    """The result of a call.

    - `done`: the call was carried out.
    - `failed`: it was certainly not carried out.
    - `unsure`: a write that may have been carried out: its response was lost, late or a 5xx.
    """

    text: str
    """The result, or a sentence about the failure, for the model."""
    state: Literal["done", "failed", "unsure"] = "done"


Run = Callable[[Arguments, Visitor, str], Awaitable[Outcome]]
"""Carries out a call with checked arguments. The text is the `Idempotency-Key` of a write, else "".

Raises nothing but CancelledError: every failure is an Outcome. The caller limits the time, and the
length of the result.
"""


class Tool(NamedTuple):
    """A tool that the model can call."""

    name: str
    """At most 64 letters, digits, `_` and `-`."""
    description: str
    """For the model."""
    parameters: Schema
    """What the model sets: without the parameters in `bind`."""
    run: Run
    effect: Effect = "read"
    title: Texts = MappingProxyType({})
    """What the visitor reads while the tool runs, such as `Looking up your order`."""
    approve: Texts = MappingProxyType({})
    """The question of the card, such as `Cancel order {order_id}?`; empty: made from the title."""
    preview: str = ""
    """The name of the read tool whose result has the other values of `approve`."""
    idempotent: bool = False
    """Whether an uncertain write is sent once more, with the same `Idempotency-Key`."""
    host: str = ""
    """The host that gets the arguments; "" for the site's own code and for Kefu's own tools."""
    after: tuple[str, ...] = ()
    """Tools of other hosts whose results the model may use for a call without a click."""
    links: tuple[str, ...] = ()
    """Addresses that an answer may link to after a call, with all pages below them."""
    needs_user: bool = False
    """Whether only signed-in users have the tool."""
    bind: Mapping[str, str] = MappingProxyType({})
    """Parameters that Kefu sets: `user.sub`, or `user.CLAIM` with a claim of the user token."""
    is_own: bool = False
    """Whether this is one of Kefu's own tools, whose results are pages of the site."""


def in_language(texts: Texts, language: str) -> str:
    """The text for a language tag: of the tag itself, of its language, or for all others."""
    wanted = language.lower()
    known = {tag.lower(): text for tag, text in texts.items()}
    for tag in (wanted, wanted.partition("-")[0], ""):
        if tag in known:
            return known[tag]
    return next(iter(texts.values()), "")


def definition(tool: Tool) -> dict[str, object]:
    """The tool as in the `tools` of a request to the model."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def bound(visitor: Visitor, path: str) -> str:
    """The value of `user.sub` or `user.CLAIM`; "" if the visitor has none."""
    name = path.removeprefix("user.")
    return visitor.user if name == "sub" else visitor.claims.get(name, "")
