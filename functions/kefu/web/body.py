"""From a request's bytes to a `Question`: every limit is checked before the next step is taken."""

from __future__ import annotations

import asyncio
import json
import re
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from kefu.errors import BodyTimeout, InvalidRequest, UnsupportedMediaType
from kefu.web.options import BodyLimits

Body = TypeVar("Body", bound=BaseModel)

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKETS = re.compile(rb"[\[\]{}]")


async def read_json(request: Request, limits: BodyLimits) -> object:
    """The JSON body of a request. Raises a KefuError for whatever is wrong with it."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType("The Content-Type must be application/json.")
    raw = await _read(request, limits)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InvalidRequest("The body is not UTF-8.") from None
    if _deeper_than(limits.depth, raw):
        raise InvalidRequest(f"The body is nested deeper than {limits.depth} levels.")
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
        if _SURROGATE.search(raw):
            # Encoding finds the halves; whole pairs have become one character by now.
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("Half of a surrogate pair is no text.") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _Doubtful) else "The body is not valid JSON."
        raise InvalidRequest(reason) from None
    return value


def checked(model: type[Body], value: object) -> Body:
    """The body as a model; the first thing wrong with it becomes the error's `param`."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        # Of a union pydantic names the branch, too: `messages.0.content.str`.
        path = [str(part) for part in first["loc"] if not str(part).startswith(("str", "list["))]
        message = first["msg"].removeprefix("Value error, ")
        param = ".".join(path) or None
        raise InvalidRequest(f"{param or 'body'}: {message}", param=param) from None


async def _read(request: Request, limits: BodyLimits) -> bytes:
    declared = request.headers.get("content-length", "0")
    too_long = f"The body is longer than {limits.bytes} bytes."
    if declared.isdecimal() and int(declared[:18]) > limits.bytes:
        raise InvalidRequest(too_long)
    parts = bytearray()
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                parts += part
                if len(parts) > limits.bytes:
                    raise InvalidRequest(too_long)
    except TimeoutError:
        raise BodyTimeout("The body did not arrive in time.") from None
    except ClientDisconnect:
        raise BodyTimeout("The connection closed before the body was complete.") from None
    return bytes(parts)


def _deeper_than(depth: int, raw: bytes) -> bool:
    if raw.count(b"[") + raw.count(b"{") <= depth:
        return False
    level = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", raw)):
        level += 1 if bracket in b"[{" else -1
        if level > depth:
            return True
    return False


class _Doubtful(ValueError):
    """Valid to some JSON parsers, and read differently by others."""


def _no_constant(name: str) -> NoReturn:
    raise _Doubtful(f"{name} is not valid JSON.")


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    whole = dict(pairs)
    if len(whole) != len(pairs):
        raise _Doubtful("The body names the same key twice.")
    return whole
