"""HTTP requests of `kefu doctor`: single requests, and a request that records the arrival of each
piece.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

import httpx

_TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0)
_ERRNO: Final = re.compile(r"\[Errno -?\d+\] ")
_MAX_BODY_BYTES: Final = 1024 * 1024


class Unanswered(Exception):
    """There was no HTTP response; the text is the cause."""


class ProbeResponse(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    arrivals: tuple[float, ...] = ()
    """When each event of a stream arrived, in seconds after the request."""
    headers_after: float = 0.0
    """Seconds from the request to the headers."""


@cache
def _authorities() -> ssl.SSLContext:
    """The context is made once, because reading all certificates takes 40 ms."""
    return httpx.create_ssl_context()


def ask(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    json: object = None,
    query: Mapping[str, str] | None = None,
    monotonic: Callable[[], float] = lambda: 0.0,
) -> ProbeResponse:
    """Send a request, and read the response up to 1 MB. Raises Unanswered.

    `monotonic`: the clock for `arrivals` and `headers_after`.
    """
    body, start = b"", monotonic()
    arrivals: list[float] = []
    try:
        with (
            httpx.Client(timeout=_TIMEOUT, verify=_authorities()) as client,
            client.stream(method, url, headers=headers, json=json, params=query) as response,
        ):
            headers_after = monotonic() - start
            for piece in response.iter_bytes():
                body += piece
                arrivals += [monotonic() - start] * piece.count(b"data:")
                if len(body) > _MAX_BODY_BYTES:
                    break
            headers = dict(response.headers)
            return ProbeResponse(
                response.status_code, headers, body, tuple(arrivals), headers_after
            )
    except httpx.TimeoutException:
        raise Unanswered("it does not answer in time") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise Unanswered(_ERRNO.sub("", str(error)) or type(error).__name__) from None
