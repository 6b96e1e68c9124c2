"""Reads the caller of a request: its address, its proof for the bot check, and its deadline.

The address and the deadline come from Lambda or from a trusted proxy. Values that a client can
forge are never used. Mangum puts the Lambda event and context into the ASGI scope. The Lambda Web
Adapter sends both in two headers, and overwrites the client's headers. The Adapter's headers are
read only when `behind_adapter` says that requests come from the adapter alone.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from starlette.requests import Request

from kefu.chat.state import Answer
from kefu.web.request_record import record_of
from kefu.web.schemas import AnswerRequest, ResumeRequest

VIEWER_HEADER = "true-client-ip"
"""The header for the visitor's address; the CDN overwrites a visitor's own header."""

VIEWER_HOST_HEADER = "x-kefu-host"
"""The header in which the CDN of the template sends the name by which the visitor reached it."""

END_EARLY_SECONDS = 2.0
"""Seconds before the Lambda deadline at which Kefu ends an answer with its own error."""

LONGEST = 64
"""Characters of a text that is no IP address, such as `unknown`."""


_LANGUAGE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}")


class Gateway(NamedTuple):
    now: Callable[[], float]
    """The result is Unix time."""
    trusted_hops: int = 0
    """The number of trusted proxies."""
    behind_adapter: bool = False
    """Whether only the Lambda Web Adapter can reach the server, so that its headers are trusted."""
    behind_cdn: bool = False
    """Whether every request is checked to come through a CDN, so that its headers are trusted."""

    def address(self, request: Request) -> str:
        """Return the client's IP address, in its usual spelling.

        Behind a CDN, the address is the client address that the CDN saw. On Lambda, the address is
        the source IP of the request context. Behind trusted proxies, the address is the entry
        number `trusted_hops` of X-Forwarded-For, counted from the right. A client can forge the
        entries further left. Without the header, the address is the address of the TCP peer.
        """
        return address_in(self._address(request))

    def _address(self, request: Request) -> str:
        peer = request.client.host if request.client else "unknown"
        if self.behind_cdn and (viewer := request.headers.get(VIEWER_HEADER, "")):
            return viewer
        if "aws.event" in request.scope:
            return peer  # Mangum sets `client` to the source IP of the request context
        if self.behind_adapter:
            return _source_ip(_header_object(request, "x-amzn-request-context")) or peer
        if self.trusted_hops:
            chain = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
            hops = [part.strip() for part in chain if part.strip()]
            if len(hops) >= self.trusted_hops:
                return hops[-self.trusted_hops]
        return peer

    def own_url(self, request: Request) -> str:
        """Return the public address of this service, without a slash at its end.

        Known only on AWS, elsewhere "": a client could send another name in the Host header.
        """
        if "aws.event" in request.scope:
            context = request.scope["aws.event"].get("requestContext", {})
        elif self.behind_adapter:
            context = _header_object(request, "x-amzn-request-context")
        else:
            return ""
        if self.behind_cdn:
            host = request.headers.get(VIEWER_HOST_HEADER, "")
            return f"https://{host}" if host else ""
        domain, path = context.get("domainName"), context.get("path")
        if not (isinstance(domain, str) and isinstance(path, str)):
            return ""
        # The path begins with the stage of the API, except under a domain of one's own.
        stage, found, _ = path.rpartition(request.scope["path"])
        return f"https://{domain}{stage}" if found else ""

    def seconds(self, request: Request) -> float | None:
        """Return the seconds left for the answer. None: only the settings limit the time."""
        left: float | None = None
        if "aws.event" in request.scope:
            if context := request.scope.get("aws.context"):
                left = context.get_remaining_time_in_millis() / 1000
        elif self.behind_adapter:
            deadline = _header_object(request, "x-amzn-lambda-context").get("deadline")
            if isinstance(deadline, int) and deadline:
                left = deadline / 1000 - self.now()
        return None if left is None else max(0.0, left - END_EARLY_SECONDS)


def address_in(text: str) -> str:
    """Return the IP address in its usual spelling, without brackets, port and zone.

    An IPv4 address that is written as an IPv6 address (RFC 4291, 2.5.5.2) becomes an IPv4 address.
    Another text is returned in lower case and cut.
    """
    text = text.strip().strip('"').lower()
    host = text
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return text[:LONGEST]
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)


def answer_of(request: Request, body: AnswerRequest | ResumeRequest, gateway: Gateway) -> Answer:
    """The answer to a request, before it begins."""
    record, seconds = record_of(request.scope), gateway.seconds(request)
    answer = Answer(record.request_id, record.started, gateway.address(request))
    answer.source_format = body.sources
    answer.wants_steps = body.steps
    if isinstance(body, AnswerRequest):
        answer.proof = body.proof
        answer.client_message_id = body.client_message_id
    if seconds is not None:
        answer.deadline = asyncio.get_running_loop().time() + seconds
    return answer


def language_of(request: Request) -> str:
    """The first language of `Accept-Language`, such as `zh-CN`; "" without one."""
    first = request.headers.get("accept-language", "").partition(",")[0].partition(";")[0].strip()
    return first if _LANGUAGE.fullmatch(first) else ""


def _header_object(request: Request, name: str) -> dict[str, object]:
    """Parse a header as a JSON object; empty if absent, as in the adapter's readiness check."""
    try:
        value = json.loads(request.headers.get(name, "{}"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _source_ip(context: dict[str, object]) -> str | None:
    """REST APIs put the source IP into `identity`, HTTP APIs and Function URLs into `http`."""
    for name in ("identity", "http"):
        part = context.get(name)
        if isinstance(part, dict) and isinstance(address := part.get("sourceIp"), str) and address:
            return address
    return None


def bearer_of(request: Request) -> str:
    """The token of `Authorization: Bearer`; empty without a token."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
