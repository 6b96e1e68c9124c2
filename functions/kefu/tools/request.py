"""The port through which tools send HTTP requests; `kefu.upstream` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

MAX_BODY = 1_000_000
"""Bytes of a response that are read at most."""


class ToolRequest(NamedTuple):
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    keep: bool = False
    """Whether a kept connection may be used, as for each GET. Only for a request that may be sent
    again: its peer may have closed the connection just before.
    """
    is_answered: Callable[[ToolResponse], bool] | None = None
    """Whether the part of a response that has come is all that is wanted: the peer may keep a
    stream of events open.
    """


class ToolResponse(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes
    is_whole: bool = True
    """False for a body that was longer than `MAX_BODY`, and was cut off."""


class NotSent(Exception):
    """No byte of the request was sent: refused, unknown host, forbidden address, bad certificate.

    The message names the reason without a URL, for the log and for `kefu tools call`.
    """


class NoResponse(Exception):
    """The request was sent, and no whole response came back. It may have been carried out."""


class Send(Protocol):
    async def __call__(self, request: ToolRequest) -> ToolResponse:
        """Send a request. Redirects are not followed.

        The caller limits the time by cancelling. Raises NotSent and NoResponse.
        """
        ...
