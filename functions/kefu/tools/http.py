"""Runs a tool that is an HTTP request: makes the request, and reads its response.

The response of the owner's service is text for the model. So only JSON and plain text reach it, and
of an error only the status, unless the owner wants more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Literal, NamedTuple

from kefu.errors import UpstreamUnavailable
from kefu.tools.request import NoResponse, NotSent, Send, ToolRequest, ToolResponse
from kefu.tools.tool import Arguments, Effect, Outcome, Run, Visitor
from kefu.tools.url import Unfit, filled, placeholders

MAX_ERROR_TEXT = 500
"""Characters of an error's text that the model is given."""

KEY_HEADER = "Idempotency-Key"

_JSON = "application/json"
_NOT_SURE = "It is not known whether this was carried out. Do not try it again."
_MAYBE_DONE = frozenset({301, 302, 303, 408})
"""Statuses below 500 after which a write may have been carried out.

A form redirects after it was carried out, as it does to a login page. 408 is also the answer of a
proxy that has lost patience with its server; 425 and 429 are given before the work, and 307 and 308
in place of it.
"""


class HttpCall(NamedTuple):
    """The request of a tool, as the owner has described it."""

    method: str
    url: str
    """With placeholders `{parameter}` in its path and query."""
    headers: Mapping[str, str] | Callable[[], Mapping[str, str]] = MappingProxyType({})
    """With the secrets in them. A function is called for each request, and may raise
    UpstreamUnavailable for a secret that could not be loaded.
    """
    body: tuple[str, ...] = ()
    """The parameters that are sent as a JSON object. Those that stand neither here nor in `url` are
    sent as fields of the query.
    """
    errors: Literal["status", "text"] = "status"
    sign: Callable[[Visitor], Mapping[str, str]] | None = None
    """Makes the headers that name a signed-in user."""


def http_run(call: HttpCall, send: Send, effect: Effect) -> Run:
    """The function that carries out a call. A read is sent again once if the connection fails.

    A text that is no error is the whole response, up to `MAX_BODY` bytes.
    """

    async def run(arguments: Arguments, visitor: Visitor, key: str) -> Outcome:
        try:
            request = tool_request(call, arguments, visitor, key)
        except Unfit as error:
            return Outcome(str(error), "failed")
        except UpstreamUnavailable as error:
            return Outcome(error.message, "failed")
        try:
            response = await _response(request, send, effect)
        except NotSent as error:
            return Outcome(f"The service could not be reached: {error}.", "failed")
        except NoResponse:
            return _lost("The service gave no whole response.", effect)
        return outcome_of(response, effect, call.errors)

    return run


async def _response(request: ToolRequest, send: Send, effect: Effect) -> ToolResponse:
    if effect == "read":
        try:
            return await send(request)
        except (NotSent, NoResponse):
            pass  # a kept connection may have ended, or the service was just started again
    return await send(request)


def tool_request(call: HttpCall, arguments: Arguments, visitor: Visitor, key: str) -> ToolRequest:
    """The request for checked arguments. Raises Unfit, and UpstreamUnavailable for a secret."""
    given = {name: value for name, value in arguments.items() if value is not None}
    placed = {*placeholders(call.url), *call.body}
    url = filled(call.url, given, [name for name in given if name not in placed])
    headers = {"Accept": f"{_JSON}, text/plain;q=0.9"}
    body = b""
    if call.body:
        headers["Content-Type"] = _JSON
        body = _body({name: arguments[name] for name in call.body if name in arguments})
    own = call.headers() if callable(call.headers) else call.headers
    headers = _over(headers, own)
    if call.sign:
        headers = _over(headers, call.sign(visitor))
    if key:
        headers = _over(headers, {KEY_HEADER: key})
    return ToolRequest(call.method, url, headers, body)


def _body(values: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(values, allow_nan=False).encode()
    except ValueError:
        raise Unfit("A number is not finite. Use another one.") from None


def _over(headers: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Both, of which `others` replace those of the same name in any case."""
    names = {name.lower() for name in others}
    return {**{n: value for n, value in headers.items() if n.lower() not in names}, **others}


def outcome_of(
    response: ToolResponse, effect: Effect, errors: Literal["status", "text"]
) -> Outcome:
    """What a response means for the call, and its text for the model."""
    status = response.status
    if 200 <= status < 300:
        return _success(response, effect)
    text = f"The service answered {_named(status)}."
    if 300 <= status < 400:
        text += " Redirects are not followed."
    elif errors == "text" and (said := _plain(response)):
        text += f" It says: {said[:MAX_ERROR_TEXT]}"
    if status >= 500 or status in _MAYBE_DONE:
        return _lost(text, effect)
    return Outcome(text, "failed")


def _success(response: ToolResponse, effect: Effect) -> Outcome:
    named, kind = _named(response.status), _kind(response)
    if not response.body:
        return Outcome(f"Done: {named}, without content.")
    if kind == "html":
        # A page in place of data may be that of a login, or of a failure.
        return _lost(f"The service answered {named} with a web page in place of data.", effect)
    if text := _plain(response):
        return Outcome(text)
    what = "damaged JSON" if kind == "json" else f"content that is not readable ({kind})"
    text = f"The service answered {named} with {what}."
    return Outcome(text, "done" if effect == "write" else "failed")


def _plain(response: ToolResponse) -> str:
    """The content as compact JSON or as it is; "" for HTML, other types and damaged JSON."""
    kind = _kind(response)
    if kind not in ("json", "text"):
        return ""
    if kind == "json" and response.is_whole:
        try:
            value = json.loads(response.body)
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            return ""
        # JSON can name halves of surrogate pairs, which no request to the model could contain.
        return text.encode(errors="replace").decode()
    text = response.body.decode(errors="replace").strip()
    return text if response.is_whole else f"{text}\n(The rest was too long.)"


def _kind(response: ToolResponse) -> str:
    """`json`, `text` or `html`; else the type, or the compression, that is not readable."""
    coding = response.headers.get("content-encoding", "identity").lower()
    if coding not in ("", "identity"):
        return f"compressed as {coding[:20]}"
    type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    start = response.body[:200].lstrip().lower()
    if type in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype", b"<html")):
        return "html"
    if type in (_JSON, "text/json") or type.endswith("+json"):
        return "json"
    return "text" if type.startswith("text/") else type[:80] or "without a type"


def _lost(text: str, effect: Effect) -> Outcome:
    if effect == "read":
        return Outcome(text, "failed")
    return Outcome(f"{text} {_NOT_SURE}", "unsure")


def _named(status: int) -> str:
    try:
        return f"HTTP {status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return f"HTTP {status}"
