"""Checks and converts the values of a file of questions. All functions raise WrongFile."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from kefu.bootstrap.site_functions import loaded_function
from kefu.evaluation.language import LANGUAGES
from kefu.evaluation.source import Unquoted, WrongFile, at_line_of
from kefu.tools.python import BadFunction
from kefu.tools.schema import unknown

_JSON_VALUE = re.compile(r"true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_YES, _NO = (True, "true", "yes"), (False, "false", "no")


class SiteCheck(NamedTuple):
    """A function of the site that checks answers."""

    place: str
    """`module:function`."""
    check: Callable[..., object]
    """Takes an answer and its question. Returns True or None for a good answer, or the reason."""


def known_keys(content: object, names: Sequence[str], place: str) -> Mapping[str, Any]:
    """A mapping whose keys are all among `names`."""
    given = mapping(content, place)
    for name in given:
        if name not in names:
            close = get_close_matches(str(name), names, 1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"
            with at_line_of(given, name):
                raise WrongFile(f"{place}: {name} is not known; {hint}")
    return given


def mapping(content: object, place: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise WrongFile(f"{place}: must be a mapping such as `ask: When are you open?`")
    return content


def text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise WrongFile(f"{place}: must be a text")
    return value


def json_value(value: object) -> object:
    """A value of the file as JSON: in YAML, only quotes tell the text "5" from the number."""
    if isinstance(value, Mapping):
        return {name: json_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [json_value(one) for one in value]
    if isinstance(value, Unquoted) and _JSON_VALUE.fullmatch(value):
        return json.loads(value)
    return value


def texts(value: object, place: str) -> Sequence[str]:
    found = [text(one, place) for one in (value if isinstance(value, list) else [value])]
    if not all(found):
        raise WrongFile(f"{place}: is empty")
    return found


def patterns(value: object, place: str) -> Sequence[str]:
    found = texts(value, place)
    for pattern in found:
        try:
            re.compile(pattern)
        except re.error as error:
            raise WrongFile(f"{place}: {pattern} is not a regular expression: {error}") from error
    return found


def is_switch(value: object) -> bool:
    return value in _YES or value in _NO


def switch(value: object, place: str) -> bool:
    if not is_switch(value):
        raise WrongFile(f"{place}: must be true or false")
    return value in _YES


def texts_or_switch(value: object, place: str) -> Sequence[str] | bool:
    return switch(value, place) if is_switch(value) else texts(value, place)


def user_claims(value: object, place: str) -> Mapping[str, str]:
    """A user by name, or by the claims of the user token."""
    claims = value if isinstance(value, Mapping) else {"sub": value}
    found = {name: text(one, f"{place}.{name}") for name, one in claims.items()}
    if not found.get("sub"):
        raise WrongFile(f"{place}: needs a name, or a mapping with `sub`, the name")
    return found


def seconds(value: object, place: str) -> float:
    try:
        found = float(str(value))
    except ValueError:
        found = 0.0
    if not 0 < found < 86_400:
        raise WrongFile(f"{place}: must be a number of seconds, such as 10")
    return found


def language(value: object, place: str) -> str:
    if value not in LANGUAGES:
        raise WrongFile(f"{place}: must be one of {', '.join(LANGUAGES)}")
    return str(value)


def share(value: object, place: str) -> float:
    try:
        found = float(str(value))
    except ValueError:
        return float(switch(value, place))
    if not 0 <= found <= 1:
        raise WrongFile(f"{place}: must be true, false or a share, such as 0.8")
    return found


def schema(value: object, place: str) -> object:
    """A JSON Schema whose keywords can all be checked."""
    found = json_value(value)
    if isinstance(found, str):
        raise WrongFile(f"{place}: must be a schema such as `type: object`")
    if names := unknown(found):
        raise WrongFile(f"{place}: {names[0]} cannot be checked")
    return found


def site_check(value: object, place: str) -> SiteCheck:
    """A function of the site, which is loaded now."""
    name = text(value, place)
    try:
        check = loaded_function(name)
        if iscoroutinefunction(check):
            raise BadFunction("must not be async")
        return SiteCheck(name, check)
    except BadFunction as error:
        raise WrongFile(f"{place}: {name} {error}") from error
