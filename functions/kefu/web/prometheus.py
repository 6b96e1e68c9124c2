"""Counts what the log reports, for Prometheus: the same numbers as CloudWatch gets."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from hmac import compare_digest

from fastapi import APIRouter, Request, Response

from kefu.errors import NotFound

TEXT = "text/plain; version=0.0.4; charset=utf-8"
"""https://prometheus.io/docs/instrumenting/exposition_formats/"""

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""The upper limits of the histograms, in seconds."""

LOOPBACK = ("127.0.0.1", "::1")

HELP = {
    "requests": "Requests, by the code of their error or `ok`.",
    "errors": "Requests that ended with an error.",
    "tokens": "Tokens of prompts and answers.",
    "cooldowns": "Cooldowns of keys that requests began.",
    "keys_failing": "Attempts after which a key is asked last.",
    "all_keys_cooling": "Requests that found all keys cooling.",
    "hooks_failed": "Failed calls of hooks.",
    "store_degraded": "Failed calls of the store.",
}


class Histogram:
    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> Iterator[str]:
        yield f"# TYPE {name} histogram"
        total = 0
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._sum!r}"
        yield f"{name}_count {total}"


class Counters:
    """The counters of this process."""

    def __init__(self) -> None:
        self._codes: Counter[str] = Counter()
        self._values: Counter[str] = Counter()
        self._first_word, self._duration = Histogram(), Histogram()

    def add(self, values: Mapping[str, float]) -> None:
        """Add values, by the names of `HELP`; others are left out."""
        for name, value in values.items():
            if name in HELP and name != "requests":
                self._values[name] += int(value)

    def request(self, values: Mapping[str, float], code: str, seconds: float) -> None:
        """Add the values of a request that ended with this code, after these seconds."""
        self._codes[code] += 1
        self._duration.add(seconds)
        if (first := values.get("ttft_ms")) is not None:
            self._first_word.add(first / 1000)
        self.add(values)

    def text(self, streams: int) -> str:
        """All counters. `streams`: the answers in progress."""
        lines = [f"# HELP kefu_requests_total {HELP['requests']}"]
        lines.append("# TYPE kefu_requests_total counter")
        lines += [f'kefu_requests_total{{code="{c}"}} {n}' for c, n in self._codes.items()]
        for name, words in HELP.items():
            if name != "requests":
                lines += [f"# HELP kefu_{name}_total {words}", f"# TYPE kefu_{name}_total counter"]
                lines.append(f"kefu_{name}_total {self._values[name]}")
        lines += self._first_word.lines("kefu_first_word_seconds")
        lines += self._duration.lines("kefu_request_seconds")
        lines += ["# HELP kefu_streams Answers in progress.", "# TYPE kefu_streams gauge"]
        return "\n".join([*lines, f"kefu_streams {streams}", ""])


def metrics_routes(counters: Counters, streams: Callable[[], int], token: str) -> APIRouter:
    """`/metrics`, for a client with the token; without a token, for this machine."""
    router = APIRouter(include_in_schema=False)

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        if not _may_read(request, token):
            raise NotFound("There is no such page.")
        return Response(counters.text(streams()), media_type=TEXT)

    return router


def _may_read(request: Request, token: str) -> bool:
    if token:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        return compare_digest(given.encode(), token.encode())
    # A proxy on this machine passes requests from outside on, with this header.
    is_direct = "x-forwarded-for" not in request.headers and "forwarded" not in request.headers
    return is_direct and request.client is not None and request.client.host in LOOPBACK
