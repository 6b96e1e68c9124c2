"""A deployed Kefu, asked with the requests of the widget: `widget/src/open/transport/kept.ts`.

Errors of the server are passed on in its own words, because they are for its operator.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from kefu.auth.admin_tokens import Kind
from kefu.errors import (
    ApprovalGone,
    CertificateRejected,
    ConnectionLost,
    GatewayTimeout,
    HostUnreachable,
    InvalidRequest,
    KefuError,
    NotFound,
    OriginNotAllowed,
    RateLimited,
    SessionBusy,
    SessionNotFound,
    StoreFailed,
    StoreFull,
    Unauthorized,
    UpstreamUnavailable,
    VerificationRequired,
)
from kefu.relay.attempt import UpstreamResponse
from kefu.upstream.client import HttpUpstream

_CHAT = "/api/chat"
_MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_ERRORS: dict[int | str, type[KefuError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: OriginNotAllowed,
    404: NotFound,
    409: SessionBusy,
    429: RateLimited,
    504: GatewayTimeout,
    "approval_gone": ApprovalGone,
    "session_not_found": SessionNotFound,
    "store_failed": StoreFailed,
    "store_full": StoreFull,
    "verification_required": VerificationRequired,
}

Json = Mapping[str, object]


class ServerVisitor(NamedTuple):
    """The visitor in whose name a server is asked."""

    origin: str = ""
    """The origin of the page; empty: none is sent."""
    user_token: str = ""
    """The site's token for its signed-in user."""
    operator: Callable[[Kind], str] | None = None
    """Signs the pass for the panel's API, or for the bot check; None without ADMIN_TOKEN."""
    preset: str = ""
    sources: bool | Literal["text", "passages"] = "text"
    steps: bool = False
    """Whether answers name the calls of tools, and the cards that wait for a click."""
    language: str = ""
    """The visitor's language, such as `zh-CN`; empty: none is sent."""


class KefuServer:
    """An `Upstream` that holds one chat. Raises the server's error itself without an answer."""

    def __init__(self, url: str, visitor: ServerVisitor) -> None:
        """`url` is the server's, or the address of its chat, `data-api-url` of the script tag."""
        parts = urlsplit(url)
        self._url = url
        self._chat = url.rstrip("/") + ("" if parts.path.strip("/") else _CHAT)
        self._site = f"{parts.scheme}://{parts.netloc}"
        self._visitor = visitor
        self._http = HttpUpstream(self._chat, "")
        self._session: tuple[str, str] | None = None
        """The id and the token of the stored chat."""
        self._pass = ""
        self._tried = "", ""
        """The last question that was not answered, and its `client_message_id`."""

    @property
    def session_id(self) -> str:
        """The id of the stored chat; "" without one."""
        return self._session[0] if self._session else ""

    @property
    def message_id(self) -> str:
        """The `client_message_id` of a question whose answer has not begun; "" without one."""
        return self._tried[1]

    @property
    def has_operator(self) -> bool:
        """Whether `read` may read what only the operator may."""
        return bool(self._visitor.operator)

    async def warm(self) -> None:
        await self._http.warm()

    async def aclose(self) -> None:
        await self._http.aclose()

    def forget(self) -> None:
        """Leave the stored chat: the next question is sent with the messages before it."""
        self._session, self._tried = None, ("", "")

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        messages = json.loads(body)["messages"]
        return await self.ask([m for m in messages if m["role"] != "system"])

    async def ask(self, messages: Sequence[Mapping[str, str]]) -> UpstreamResponse:
        """Send the last message, in the stored chat if there is one. Raises the server's error.

        After an error, the same question has the same `client_message_id`, as in the widget.
        """
        question = messages[-1]["content"]
        if self._tried[0] != question:
            self._tried = question, secrets.token_urlsafe(16)
        try:
            response = await self._in_chat(messages)
        except SessionNotFound:
            if self._session is None:
                raise
            self._session = None
            response = await self._in_chat(messages[-1:])
        self._tried = "", ""
        return response

    async def click(self, approval_id: str, *, approved: bool) -> UpstreamResponse:
        """Answer a card of the stored chat. Raises the server's error.

        It may be repeated after an error: the card's id makes it the same click.
        """
        approval = {"id": approval_id, "approved": approved}
        named = {"session_id": self.session_id, "client_message_id": approval_id}
        return await self._post({**named, "approval": approval})

    async def _in_chat(self, messages: Sequence[Mapping[str, str]]) -> UpstreamResponse:
        visitor, question = self._visitor, messages[-1]["content"]
        if self._session:
            return await self._post({"message": question, "session_id": self._session[0]})
        stateless: Json = {"messages": messages}
        if len(messages) > 1:
            preset = {"config_id": visitor.preset} if visitor.preset else {}
            return await self._post({**stateless, **preset})
        if visitor.preset:
            return await self._post({"message": question, "config_id": visitor.preset})
        try:
            return await self._post({**stateless, "store": True})
        except StoreFull:
            return await self._post(stateless)

    async def _post(self, ask: Json) -> UpstreamResponse:
        visitor = self._visitor
        body = {"client_message_id": self._tried[1], "sources": visitor.sources, **ask}
        body |= {"steps": True} if visitor.steps else {}
        try:
            return await self._once(body)
        except VerificationRequired:
            if not visitor.operator:
                raise
            given = await self.read("/admin/api/verification-pass", "POST", "check")
            self._pass = str(given["pass"])
            return await self._once(body)

    async def _once(self, body: Json) -> UpstreamResponse:
        verified = {**body, "verification_pass": self._pass} if self._pass else body
        headers = {
            "Origin": self._visitor.origin,
            "Accept-Language": self._visitor.language,
            "X-User-Token": self._visitor.user_token,
            "X-Session-Token": self._session[1] if self._session else "",
        }
        text = json.dumps(verified, ensure_ascii=False).encode("utf-8", "replace")
        response = await self._request(self._http, text, headers)
        answered = response.headers
        if "x-session-id" in answered and "x-session-token" in answered:
            self._session = answered["x-session-id"], answered["x-session-token"]
        if response.status == 200:
            return response
        raise await _error_of(response)

    async def read(self, path: str, method: str = "GET", kind: Kind = "pass") -> dict[str, object]:
        """The JSON object at a path, as the operator. Raises the server's error.

        Raises InvalidRequest for a server whose identity is unproven, because it has no HTTPS.
        """
        operator, site = self._visitor.operator, self._site
        if operator and not is_private(site):
            raise InvalidRequest(f"ADMIN_TOKEN is for https or a loopback address: {site}")
        signed = f"Bearer {operator(kind)}" if operator else ""
        headers = {"Authorization": signed, "Accept": "*/*"}
        http = HttpUpstream(site, path, method)
        try:
            response = await self._request(http, b"", headers)
            if response.status != 200:
                raise await _error_of(response)
            answer = json.loads(await _body(response))
            await response.aclose()
        except ValueError as error:
            raise UpstreamUnavailable(f"{self._url} is not a Kefu service.") from error
        finally:
            await http.aclose()
        return dict(answer)

    async def _request(
        self, http: HttpUpstream, body: bytes, headers: Mapping[str, str]
    ) -> UpstreamResponse:
        given = {name: value for name, value in headers.items() if value}
        try:
            return await http.send(body, "", given)
        except (HostUnreachable, CertificateRejected) as error:
            raise ServerUnreachable(f"{self._url} cannot be reached ({error})") from error


def is_private(url: str) -> bool:
    """Whether nobody on the way can read requests to this URL, or answer them."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


class ServerUnreachable(UpstreamUnavailable):
    """No connection to the server."""


async def _body(response: UpstreamResponse) -> bytes:
    body = b""
    try:
        while len(body) < _MAX_RESPONSE_BYTES and (part := await response.read(10.0)):
            body += part
    except (TimeoutError, ConnectionLost):
        return b""
    return body


async def _error_of(response: UpstreamResponse) -> KefuError:
    """Read the error in a response, and end the exchange."""
    try:
        body = await _body(response)
    finally:
        await response.aclose()
    status, wait = response.status, response.headers.get("retry-after", "")
    message = code = ""
    try:
        error = json.loads(body)["error"]
        message, code = str(error["message"]), str(error["code"])
    except (ValueError, RecursionError, LookupError, TypeError):
        message = "The server's answer is not one of Kefu's."
    kind = _ERRORS.get(code) or _ERRORS.get(status, UpstreamUnavailable)
    facts = f"HTTP {status}, {code}" if code else f"HTTP {status}"
    seconds = int(wait) if wait.isdecimal() and len(wait) < 6 else None
    retry = False if response.headers.get("x-should-retry") == "false" else None
    return kind(f"{message} ({facts})", retry_after=seconds, should_retry=retry)
