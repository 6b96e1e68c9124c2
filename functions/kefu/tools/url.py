"""Fills the placeholders of a tool's address with the arguments of a call.

Scheme and host are the owner's. No value can add a segment to the path or a field to the query.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import quote

MAX_URL = 8_000
"""Characters of a filled address, as many as servers commonly accept."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_UNFIT = ("Cc", "Cs", "Zl", "Zp")
"""Categories of Unicode: control characters, surrogates, separators of lines and paragraphs."""
_EXACT = 2**53
"""Up to here each whole number is a float of its own."""


class Unfit(Exception):
    """An argument that cannot stand in the address; the message tells the model what to change."""


def placeholders(template: str) -> list[str]:
    """The names of the parameters in an address."""
    return _PLACEHOLDER.findall(template)


def filled(template: str, arguments: Mapping[str, object], others: Iterable[str] = ()) -> str:
    """The address with percent-encoded values. Raises Unfit.

    A field of the query whose argument was left out is left out. `others` are names of arguments
    that become further fields.
    """
    path, _, query = template.partition("?")
    url = _PLACEHOLDER.sub(lambda match: _in_path(match[1], arguments), path)
    fields = [_field(field, arguments) for field in query.split("&")]
    for name in others:
        value = arguments[name]
        values = value if isinstance(value, list) else [value]
        fields += [f"{quote(name, safe='')}={_in_query(name, one)}" for one in values]
    url = "?".join(filter(None, [url, "&".join(filter(None, fields))]))
    if len(url) > MAX_URL:
        raise Unfit("The arguments are too long. Use shorter ones.")
    return url


def _field(field: str, arguments: Mapping[str, object]) -> str:
    if any(arguments.get(name) is None for name in placeholders(field)):
        return ""
    return _PLACEHOLDER.sub(lambda match: _in_query(match[1], arguments[match[1]]), field)


def _in_query(name: str, value: object) -> str:
    return quote(_text(name, value), safe="")


def _in_path(name: str, arguments: Mapping[str, object]) -> str:
    if (value := arguments.get(name)) is None:
        raise Unfit(f"{name} is missing. Ask the visitor for it.")
    text = _text(name, value)
    # Many servers decode %2F before they split the path, so a quoted slash can lead elsewhere.
    # And some cut a segment at its semicolon, so that `..;` is `..`.
    if text in (".", "..") or any(one in text for one in "/\\;"):
        raise Unfit(f"{name} must not be a path: neither '.' nor '..', and without / and ;.")
    return quote(text, safe="")


def _text(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < _EXACT:
            return str(int(value))
        case int() | float():
            return str(value)
        case str() if not value:
            raise Unfit(f"{name} is empty. Give it a value, or leave it out if it is optional.")
        case str() if any(unicodedata.category(letter) in _UNFIT for letter in value):
            raise Unfit(f"{name} must be one line without control characters.")
        case str():
            return value
        case _:
            raise Unfit(f"{name} must be a text, a number, true or false.")
