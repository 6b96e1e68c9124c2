"""Where a model is asked: its URL, the values of its query, and its headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit, urlunsplit

from pydantic import SecretStr

SECRET_NAME: Final = re.compile(
    r"(?<!port)key|token|secret|password|auth|credential|^(code|sig)$", re.IGNORECASE
)
"""The name of a header or of a query's value that is a secret.

Not for the "key" in Portkey's name.
"""

_UNQUOTED: Final = "/?:@!$'()*,;"
"""Characters that the HTTP client does not encode in a query."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked. Not a tuple, because the repr of a tuple would show the secrets."""

    url: str
    """Without its query, so that it may be shown."""
    query: Mapping[str, str] = field(repr=False)
    """A value that is stored in AWS is its place."""
    headers: Mapping[str, str] = field(repr=False)
    """The same."""
    secrets: tuple[str, ...] = field(repr=False)
    """Texts that no log and no record may contain."""


def named_variable(value: str) -> str:
    """The environment variable that a value names as `env:NAME`; "" for another value."""
    return value.removeprefix("env:") if value.startswith("env:") else ""


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


def endpoint_of(
    url: str, headers: Mapping[str, str], variables: Mapping[str, SecretStr]
) -> Endpoint:
    """`variables` are those that values of the query and of the headers name.

    The URL may be the whole one that is asked, as Azure's portal shows it.
    """
    secrets: list[str] = []

    def known(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name, value in values.items():
            text = value
            if variable := named_variable(value):
                text = variables[variable].get_secret_value()
            if variable or SECRET_NAME.search(name):
                encoded = (quote_plus(text), quote(text, safe=_UNQUOTED))
                secrets.extend((text, *encoded, *text.split()))
            yield name, text

    query, given = dict(known(query_of(url))), dict(known(headers))
    base = urlunsplit(urlsplit(url)._replace(query="", fragment=""))
    return Endpoint(base.removesuffix("/chat/completions"), query, given, tuple(secrets))
