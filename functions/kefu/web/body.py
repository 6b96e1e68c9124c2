"""Reads and validates JSON bodies and query parameters. Sizes are checked before parsing."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.requests import ClientDisconnect, Request

from kefu.errors import BodyTimeout, InvalidRequest, UnsupportedMediaType
from kefu.web.options import BodyLimits

Body = TypeVar("Body", bound=BaseModel)

# The closing quote is optional. With a required quote, an unclosed string would fail to match once
# for every quote inside it, which takes quadratic time.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKETS = re.compile(rb"[\[\]{}]")


class JsonBody(NamedTuple, Generic[Body]):
    """The JSON body of a route, for FastAPI's `Depends(JsonBody(...).read)`.

    FastAPI's own bodies may have any size, depth and age, and the same key twice. FastAPI's bodies
    are read before all dependencies, and import pydantic.v1, which takes 20 ms of a cold start.
    """

    model: type[Body]
    limits: BodyLimits

    async def read(self, request: Request) -> Body:
        """Raises a KefuError for a body that is not valid."""
        return checked(self.model, await read_json(request, self.limits))


class Query:
    """A query parameter of a route, for `Depends(Query(...).read)`.

    The parameter is checked by its schema. FastAPI's own parameters are checked
    after all dependencies, and import pydantic.v1.
    """

    def __init__(self, name: str, **schema: Any) -> None:
        self.name, self.schema = name, schema

    async def read(self, request: Request) -> Any:
        """Return the value, or else the default. Raises InvalidRequest."""
        text, kind = request.query_params.get(self.name), self.schema["type"]
        if text is None:
            return self.schema.get("default")
        choices = ("true", "false") if kind == "boolean" else self.schema.get("enum")
        if kind == "integer":
            digits, largest = text.isascii() and text.isdecimal(), self.schema["maximum"]
            if digits and len(text) <= 16 and 0 < int(text) <= largest:
                return int(text)
            wanted = f"a whole number from 1 to {largest}"
        elif choices and text not in choices:
            wanted = f"{', '.join(choices[:-1])} or {choices[-1]}"
        else:
            return text == "true" if kind == "boolean" else text
        raise InvalidRequest(f"{self.name}: must be {wanted}.", param=self.name)


async def read_json(request: Request, limits: BodyLimits) -> object:
    """Return the JSON body of a request.

    Raises UnsupportedMediaType, BodyTimeout or InvalidRequest.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType("The Content-Type must be application/json.")
    raw = await _read(request, limits)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        if "content-encoding" in request.headers:
            raise UnsupportedMediaType("The body must have no Content-Encoding.") from None
        raise InvalidRequest("The body is not UTF-8.") from None
    if _deeper_than(limits.depth, raw):
        raise InvalidRequest(f"The body is nested deeper than {limits.depth} levels.")
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
        if _SURROGATE.search(raw):
            # Encoding fails on an unpaired surrogate. `json.loads` has already joined the pairs.
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("The body contains an unpaired surrogate.") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _AmbiguousJson) else "The body is not valid JSON."
        raise InvalidRequest(reason) from None
    return value


def checked(model: type[Body], value: object) -> Body:
    """Validate a parsed body against a pydantic model.

    Raises InvalidRequest. The error's `param` is the path of the first invalid field.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = _first(error.errors(include_url=False, include_input=False, include_context=False))
        # For a union pydantic appends the type of the branch: `messages.0.content.str`.
        path = [part for part in map(str, first["loc"]) if part != "str" and part[:5] != "list["]
        message = first["msg"].removeprefix("Value error, ")
        param = ".".join(path) or None
        raise InvalidRequest(f"{param or 'body'}: {message}", param=param) from None


def _first(errors: list[ErrorDetails]) -> ErrorDetails:
    """Return the first error. The path of a content: of the text, or of the part of a list."""
    *field, branch = errors[0]["loc"] or ("",)
    if branch != "str":
        return errors[0]
    same_field = [error for error in errors if error["loc"][: len(field)] == tuple(field)]
    return max(same_field, key=lambda error: len(error["loc"]))


async def _read(request: Request, limits: BodyLimits) -> bytes:
    declared = request.headers.get("content-length", "0")
    too_long = f"The body is longer than {limits.bytes} bytes.{limits.too_long}"
    if declared.isdecimal() and int(declared[:18]) > limits.bytes:
        raise InvalidRequest(too_long)
    parts, places, has_place = bytearray(), limits.places, False
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                parts += part
                if len(parts) > limits.bytes:
                    raise InvalidRequest(too_long)
                if places and not has_place and len(parts) > limits.usual:
                    has_place = await places.acquire()
    except TimeoutError:
        raise BodyTimeout("The body did not arrive in time.") from None
    except ClientDisconnect:
        raise BodyTimeout("The connection closed before the body was complete.") from None
    finally:
        if places and has_place:
            places.release()
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


class _AmbiguousJson(ValueError):
    """JSON that some parsers reject or interpret differently from others."""


def _no_constant(name: str) -> NoReturn:
    raise _AmbiguousJson(f"{name} is not valid JSON.")


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _AmbiguousJson("The body contains the same key twice.")
    return result
