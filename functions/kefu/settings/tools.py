"""Settings of the tools that the model may call: [tools.NAME]. Imported only if there are tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from kefu.settings.file import Keys
from kefu.settings.model import Headers

BUILT_IN: Final = ("search_pages", "ask_person")
"""Kefu's own tools. A table with the name of one enables it."""

TOO_MANY: Final = 20
"""Models choose worse among more tools."""

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The names of functions that all providers accept."""
PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]{0,63})\}")
"""A parameter in a URL."""
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_CLAIM: Final = re.compile(r"user\.[A-Za-z0-9_-]+")

Kind = Literal["http", "mcp", "python", "page", "built-in"]
Problem = tuple[Keys, str]
"""What is wrong with a tool: the key, below `[tools]`, and a sentence."""
Wrong = tuple[str, str]
"""What is wrong with a table, and a sentence: `url`, `parameters.order_id`, or "" for the table."""


def _by_language(given: object) -> object:
    return {"": given} if isinstance(given, str) else given


def _texts(given: dict[str, str]) -> dict[str, str]:
    for tag, text in given.items():
        if tag and not _LANGUAGE.fullmatch(tag):
            raise ValueError(f"{tag} is not the tag of a language, such as en or zh-CN")
        if not text.strip():
            raise ValueError("must not be empty")
    return given


def _properties(given: dict[str, dict[str, JsonValue]]) -> dict[str, dict[str, JsonValue]]:
    for name in given:
        if not PLACEHOLDER.fullmatch(f"{{{name}}}"):
            raise ValueError(
                f"{name} must have at most 64 letters, digits, _ and -, and a letter or _ first"
            )
    try:
        json.dumps(given, allow_nan=False)
    except ValueError:
        raise ValueError("a number must not be inf or nan") from None
    return given


def _links(given: tuple[str, ...]) -> tuple[str, ...]:
    for link in given:
        parts = urlsplit(link)
        if parts.scheme not in ("http", "https") or not parts.hostname or not link.endswith("/"):
            raise ValueError(
                f"{link} must be the address of a folder, which ends with /, such as "
                "https://shop.example/"
            )
    return given


def _claims(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not _CLAIM.fullmatch(value):
            raise ValueError(
                f"{name} must be user.sub or user.CLAIM with a claim of the user token"
            )
    return given


Texts = Annotated[dict[str, str], BeforeValidator(_by_language), AfterValidator(_texts)]
"""A text, or a table of texts by language. `""` is the language of a text without one."""


class _Shown(BaseModel):
    """What the owner says about a tool of any kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Texts = Field(
        {},
        description="What the visitor reads while the tool runs; or a table of texts by language.",
    )
    effect: Literal["", "read", "write"] = Field(
        "",
        description="A `write` waits for the visitor's click. Unset: `read` for `GET`, `HEAD` and "
        "read-only tools of MCP, else `write`.",
    )
    approve: Texts = Field(
        {},
        description="The question to the visitor before a write: `Cancel order {order_id}?`; or a "
        "table of texts by language.",
    )
    preview: str = Field(
        "", description="The read tool whose JSON result has the other values of `approve`."
    )
    idempotent: StrictBool = Field(
        False,
        description="Whether an uncertain write is sent once more, with the same "
        "`Idempotency-Key`.",
    )
    bind: Annotated[dict[str, str], AfterValidator(_claims)] = Field(
        {},
        description="Parameters that Kefu sets, and the model does not see: "
        '`{ customer_id = "user.sub" }`. The tool is for signed-in users then.',
    )


class McpToolTable(_Shown):
    """The table [tools.NAME.tools.TOOL] of one tool of an MCP server."""


class ToolTable(_Shown):
    """The table [tools.NAME]."""

    url: str = Field(
        "",
        description="An HTTP tool: the address of its request. `{order_id}` in the path or the "
        "query stands for a parameter.",
    )
    mcp: str = Field("", description="An MCP server: its address, over streamable HTTP.")
    python: str = Field("", description="A function of the site: `module:function`.")
    page: StrictBool = Field(
        False, description="Whether the visitor's page describes the tool, and carries it out."
    )
    method: Literal["", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = Field(
        "", description="Of the request. Unset: `POST` with a `body`, else `GET`."
    )
    headers: Headers = Field(
        {}, description="Of each request. A secret is `env:NAME`, or a place in AWS."
    )
    body: tuple[str, ...] = Field((), description="Parameters that are sent as a JSON object.")
    description: str = Field("", description="For the model: what the tool does, and when.")
    parameters: Annotated[dict[str, dict[str, JsonValue]], AfterValidator(_properties)] = Field(
        {}, description="A table of its own: the JSON Schema of each parameter."
    )
    optional: tuple[str, ...] = Field((), description="Parameters that may be left out.")
    user: Literal["", "required"] = Field(
        "",
        description="`required`: for signed-in users only; the request has a signed token of the "
        "user.",
    )
    errors: Literal["status", "text"] = Field(
        "status", description="`text`: the model gets the text of an error, not its status alone."
    )
    after: tuple[str, ...] = Field(
        (), description="Tools of other hosts after whose results no click is needed."
    )
    links: Annotated[tuple[str, ...], AfterValidator(_links)] = Field(
        (), description="Addresses that an answer may link to after a call."
    )
    allow: tuple[str, ...] = Field((), description="The tools of the MCP server that are offered.")
    tools: dict[str, McpToolTable] = Field(
        {},
        description="Tables of their own: `title`, `effect`, `approve`, `preview`, `idempotent` "
        "and `bind` of tools of the MCP server.",
    )

    @property
    def kind(self) -> Kind:
        if self.page:
            return "page"
        return (
            "http" if self.url else "mcp" if self.mcp else "python" if self.python else "built-in"
        )

    @property
    def http_method(self) -> str:
        return self.method or ("POST" if self.body else "GET")

    @property
    def is_write(self) -> bool:
        """Whether it waits for a click. A server of MCP decides for each of its own tools."""
        if self.effect or self.kind in ("mcp", "built-in"):
            return self.effect == "write"
        return self.kind in ("python", "page") or self.http_method not in ("GET", "HEAD")

    @property
    def needs_user(self) -> bool:
        return self.user == "required" or bool(self.bind)

    @property
    def input_schema(self) -> Mapping[str, object]:
        """The JSON Schema of what the model sets."""
        names = [name for name in self.parameters if name not in self.bind]
        return {
            "type": "object",
            "properties": {name: self.parameters[name] for name in names},
            "required": [name for name in names if name not in self.optional],
            "additionalProperties": False,
        }


TABLES: Final = TypeAdapter(dict[str, ToolTable])


def refused(problems: Iterable[Problem]) -> ValidationError:
    """The error for problems, of which each has the place of its own key."""
    return ValidationError.from_exception_data(
        "tools",
        [
            InitErrorDetails(
                type=PydanticCustomError("tool", "{says}", {"says": says}), loc=keys, input=None
            )
            for keys, says in problems
        ],
    )


def names_of(tables: Mapping[str, ToolTable]) -> list[str]:
    """The names of all tools: of the tables, and of the tools that MCP servers may offer."""
    own = [name for name, one in tables.items() if one.kind != "mcp"]
    return own + [name for one in tables.values() for name in one.allow]
