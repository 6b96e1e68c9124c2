"""Asks a service the questions of a case, and waits when the service asks for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kefu.errors import (
    ConnectionLost,
    GatewayTimeout,
    RateLimited,
    SessionBusy,
    UpstreamUnavailable,
)
from kefu.evaluation.checks import CitedPage, ServiceAnswer
from kefu.relay.attempt import UpstreamResponse
from kefu.relay.sse import EventTooLarge, Parser
from kefu.upstream.kefu_server import KefuServer, ServerVisitor

_MAX_ATTEMPTS = 5
"""Attempts of a question that fail for another reason than a rate limit."""
_MAX_WAIT_SECONDS = 900.0
"""Maximum seconds that one question waits for rate limits and for keys that cool down."""
_MAX_SILENCE_SECONDS = 120.0
"""Seconds without a byte after which an answer is given up."""


class QuestionGate:
    """Holds back all questions while the service asks to wait."""

    def __init__(self) -> None:
        self._open_at = 0.0

    async def passed(self) -> None:
        """Wait until questions may be sent."""
        now = asyncio.get_running_loop().time
        while (left := self._open_at - now()) > 0:  # noqa: ASYNC110 - it may close again meanwhile
            await asyncio.sleep(left)

    def close(self, seconds: float) -> None:
        self._open_at = max(self._open_at, asyncio.get_running_loop().time() + seconds)


class ServiceChat:
    """A chat with the service, in the name of a new visitor."""

    def __init__(self, url: str, visitor: ServerVisitor, gate: QuestionGate) -> None:
        self._server = KefuServer(url, visitor._replace(sources="passages"))
        self._gate = gate
        self._messages: list[Mapping[str, str]] = []

    async def ask(self, question: str) -> ServiceAnswer:
        """The answer. Raises the KefuError of the last attempt."""
        asked = {"role": "user", "content": question}
        answer = await self._patiently([*self._messages, asked])
        self._messages += [asked, {"role": "assistant", "content": answer.text}]
        return answer

    async def aclose(self) -> None:
        await self._server.aclose()

    async def _patiently(self, messages: Sequence[Mapping[str, str]]) -> ServiceAnswer:
        clock = asyncio.get_running_loop().time
        end, attempt = clock() + _MAX_WAIT_SECONDS, 0
        while True:
            await self._gate.passed()
            try:
                return await self._once(messages)
            except (RateLimited, UpstreamUnavailable, GatewayTimeout, SessionBusy) as error:
                attempt += not error.retry_after
                wait = error.retry_after or 2.0 ** (attempt - 1)
                is_final = error.should_retry is False and not error.retry_after
                if is_final or attempt >= _MAX_ATTEMPTS or clock() + wait > end:
                    raise
                # After one refusal all other questions wait, instead of being refused, too.
                if error.retry_after:
                    self._gate.close(wait)
                await asyncio.sleep(wait)

    async def _once(self, messages: Sequence[Mapping[str, str]]) -> ServiceAnswer:
        clock = asyncio.get_running_loop().time
        started = clock()
        response = await self._server.ask(messages)
        try:
            read = await _read(response)
        finally:
            await response.aclose()
        seconds, question = clock() - started, str(messages[-1]["content"])
        return ServiceAnswer(read.text, seconds, read.pages(), read.answered, question)


class _Read:
    """Collects the events of an answer."""

    def __init__(self) -> None:
        self.text = ""
        self.answered = True
        self.complete = False
        self._sources: dict[int, CitedPage] | None = None
        self._used: Sequence[int] = ()

    def event(self, data: str) -> None:
        if data == "[DONE]":
            self.complete = True
            return
        event: Any = json.loads(data)
        if error := event.get("error"):
            raise UpstreamUnavailable(f"{error.get('message')} ({error.get('code')})")
        for choice in event.get("choices") or ():
            self.text += (choice.get("delta") or {}).get("content") or ""
        if "sources" in event:
            self._sources = {
                one["number"]: CitedPage(
                    one.get("title") or "", one.get("url") or "", one["number"], one.get("text")
                )
                for one in event["sources"]
            }
        if "used" in event:
            self._sources = self._sources or {}
            self._used, self.answered = event["used"], event["answered"]

    def pages(self) -> Sequence[CitedPage] | None:
        sources = self._sources
        if sources is None:
            return None
        return [sources[number] for number in self._used if number in sources]


async def _read(response: UpstreamResponse) -> _Read:
    """The whole answer. Raises UpstreamUnavailable for an answer that broke off."""
    parser, read = Parser(), _Read()
    try:
        while not read.complete and (part := await response.read(_MAX_SILENCE_SECONDS)):
            for event in parser.feed(part):
                read.event(event.data)
    except TimeoutError:
        raise GatewayTimeout(f"no word for {_MAX_SILENCE_SECONDS:.0f} s") from None
    except (ConnectionLost, EventTooLarge, ValueError, LookupError, AttributeError, TypeError):
        raise UpstreamUnavailable("the answer cannot be read") from None
    if not read.complete:
        raise UpstreamUnavailable("the answer broke off")
    return read
