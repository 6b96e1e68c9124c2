"""A client that sends a request, reads the streamed answer, and records the time of each event."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

# No test uses TLS here, and one shared context saves 20 ms per client.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(slots=True)
class Answer:
    """A received response. Times are seconds since the request was sent."""

    status: int
    headers: httpx.Headers
    head_at: float
    raw: bytes = b""
    events: list[tuple[float, str]] = field(default_factory=list)
    """The text of each `data:` event."""
    comments: list[tuple[float, str]] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Lines that are neither `data:`, a comment, nor empty."""
    cut: bool = False
    """The connection ended in the middle of the response."""
    ended_at: float = 0.0
    asked_at: float = 0.0
    """`time.monotonic()` of the request."""

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def chunks(self) -> list[Any]:
        return [json.loads(text) for _, text in self.events if text != "[DONE]"]

    @property
    def done(self) -> bool:
        return any(text == "[DONE]" for _, text in self.events)

    def deltas(self, name: str) -> list[Any]:
        """The values of one field of all deltas, without null and absent ones."""
        found = (c["choices"][0]["delta"] for c in self.chunks if c.get("choices"))
        return [delta[name] for delta in found if delta.get(name) is not None]

    @property
    def text(self) -> str:
        return "".join(self.deltas("content"))

    @property
    def finish(self) -> str | None:
        ends = [c["choices"][0]["finish_reason"] for c in self.chunks if c.get("choices")]
        return next((reason for reason in ends if reason), None)

    @property
    def error(self) -> Any:
        """The error object of a JSON response or of the last event; None if there is none."""
        if self.status != 200:
            return self.json["error"]
        return self.chunks[-1].get("error") if self.chunks else None

    @property
    def complete(self) -> bool:
        return self.status == 200 and self.done and not self.cut and self.error is None


def conversation(*texts: str, **more: Any) -> dict[str, Any]:
    """A body for `POST /api/chat`, whose first and last messages are the user's."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return {"messages": messages, **more}


async def ask(
    url: str,
    body: Any = "Hello?",
    *,
    path: str = "/api/chat",
    headers: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
    source: str = "127.0.0.1",
    timeout: float = 20.0,
) -> Answer:
    """POST a question and read the whole answer. Bytes are sent unchanged as the body."""
    shaped = conversation(body) if isinstance(body, str) else body
    octets = shaped if isinstance(shaped, bytes) else json.dumps(shaped).encode()
    all_headers = httpx.Headers({"Content-Type": "application/json"})
    all_headers.update(httpx.Headers(headers))
    async with client(source=source, timeout=timeout) as visitor:
        sent = time.monotonic()
        call = visitor.stream("POST", url + path, content=octets, headers=all_headers)
        async with call as response:
            answer = Answer(response.status_code, response.headers, time.monotonic() - sent)
            await _read(response, answer, sent)
    answer.ended_at = time.monotonic() - sent
    answer.asked_at = sent
    return answer


def client(*, source: str = "127.0.0.1", timeout: float = 20.0) -> httpx.AsyncClient:
    transport = httpx.AsyncHTTPTransport(verify=_NO_TLS, local_address=source, trust_env=False)
    return httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)


async def get(url: str, path: str, *, method: str = "GET", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client() as visitor:
        return await visitor.request(method, url + path, headers=named)


async def _read(response: httpx.Response, answer: Answer, sent: float) -> None:
    rest = b""
    try:
        async for octets in response.aiter_raw():
            answer.raw += octets
            if answer.status == 200 and "event-stream" in answer.headers.get("content-type", ""):
                *lines, rest = (rest + octets).split(b"\n")
                _note(lines, answer, time.monotonic() - sent)
    except httpx.RemoteProtocolError:
        answer.cut = True
    if rest:
        answer.foreign.append(rest.decode())


def _note(lines: Sequence[bytes], answer: Answer, at: float) -> None:
    """Record the lines. The service sends only `data:` lines and comments, so others are errors."""
    for line in (octets.decode() for octets in lines):
        if line.startswith("data: "):
            answer.events.append((at, line[6:]))
        elif line.startswith(":"):
            answer.comments.append((at, line[1:].strip()))
        elif line:
            answer.foreign.append(line)
