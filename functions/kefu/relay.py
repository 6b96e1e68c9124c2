"""One completion: pick a key, ask the upstream, let nothing out before it is good, watch the rest.

The one retry loop of Kefu is here. It ends with the first event of an answer: until then a
failing key is left for the next one, afterwards nothing is ever asked twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from kefu.answer import (
    SILENT,
    Answer,
    Attempt,
    Call,
    Clock,
    Opened,
    Patience,
    Upstream,
    abandon,
)
from kefu.completion import InBandError, MalformedChunk, error_status
from kefu.errors import (
    CertificateRejected,
    ConnectionLost,
    ContextTooLong,
    GatewayTimeout,
    HostUnreachable,
    InvalidRequest,
    KefuError,
    RateLimited,
    UpstreamUnavailable,
)
from kefu.keypool import ApiKey, Cooldowns, CooldownStore, KeyPool, Reason
from kefu.refusal import Refusal, refusal, wrong_body
from kefu.sse import EventTooLarge
from kefu.stream import Stream, UpstreamResponse


class _Refused(Exception):
    """A try failed before its first event; the next key may be tried."""

    def __init__(self, verdict: Refusal, error: KefuError | None = None) -> None:
        super().__init__(verdict.outcome)
        self.verdict = verdict
        self.error = error or UpstreamUnavailable(_UNAVAILABLE)


_UNAVAILABLE = "The AI service is unavailable. Please try again later."
_MAX_ERROR_BODY = 64 * 1024


class Relay:
    def __init__(
        self,
        upstream: Upstream,
        pool: KeyPool,
        cooldowns: CooldownStore,
        clock: Clock,
        patience: Patience | None = None,
        *,
        keys_ready: Callable[[], Awaitable[None]] | None = None,
        max_retries: int = 3,
        cooldown: float = 60.0,
    ) -> None:
        """`keys_ready` comes back soon, with the pool's keys there if they can be had."""
        self._keys_ready = keys_ready
        self._upstream = upstream
        self._pool = pool
        self._cooldowns = cooldowns
        self._clock = clock
        self._patience = patience or Patience()
        self._max_retries = max_retries
        self._cooldown = cooldown

    async def start(self, call: Call) -> Answer:
        """Ask, and come back once it is known that headers may be sent.

        That is when the first good event is here, or when an upstream has answered 200 and thinks
        in silence while `ping_interval` has passed since the request came.
        Raises a KefuError when nobody answers. Cancelling closes the upstream's connection.
        """
        opening = asyncio.create_task(self._open(call))
        try:
            await self._gate(call, opening)
        except BaseException:
            abandon(opening)
            raise
        call.gate_open = True
        return Answer(call, opening, self._clock, self._patience)

    async def _gate(self, call: Call, opening: asyncio.Task[Opened]) -> None:
        quiet = call.started + self._patience.ping_interval - self._clock.monotonic()
        if not (await asyncio.wait({opening}, timeout=max(0, quiet)))[0]:
            answered = asyncio.create_task(call.answered.wait())
            await asyncio.wait({opening, answered}, return_when=asyncio.FIRST_COMPLETED)
            answered.cancel()
        if opening.done():
            opening.result()

    async def _open(self, call: Call) -> Opened:
        tried: list[ApiKey] = []
        error: KefuError | None = None
        if self._keys_ready:
            await self._keys_ready()
        while len(tried) <= self._max_retries:
            view = await self._cooldowns.cooldowns()
            active = self._pool.active(view, self._clock.now())
            untried = [key for key in active if key not in tried]
            if not untried:
                raise self._give_up(error, view)
            key = untried[0]
            tried.append(key)
            self._pool.used(key)
            started = self._clock.monotonic()
            last = len(untried) == 1 or len(tried) > self._max_retries
            try:
                opened = await self._try(call, key, last=last)
            except _Refused as refused:
                self._note(call, key, started, refused.verdict)
                error = refused.error
                if not call.gate_open:
                    call.answered.clear()
                await self._judge(refused, key)
            else:
                self._note(call, key, started, Refusal("ok"))
                call.first_event_at = self._clock.monotonic()
                return opened
            if self._time_left(call) <= 0:
                raise GatewayTimeout(SILENT, should_retry=False)
        raise self._give_up(error, await self._cooldowns.cooldowns())

    def _give_up(self, error: KefuError | None, view: Cooldowns) -> KefuError:
        """All keys rest, or enough were tried: further tries are not for the client to make."""
        now = self._clock.now()
        if error is None or not self._pool.active(view, now):
            return self._pool.exhausted(view, now)
        error.should_retry = False
        return error

    def _note(self, call: Call, key: ApiKey, started: float, verdict: Refusal) -> None:
        seconds = self._clock.monotonic() - started
        rested = verdict.rest is not None
        self._pool.ended(key.fingerprint, verdict.outcome)
        call.attempts.append(Attempt(key.fingerprint, verdict.outcome, seconds, rested))

    def _time_left(self, call: Call) -> float:
        """Seconds until a try must have brought the upstream's headers, or the first event."""
        waited = self._clock.monotonic() - call.started
        patience = self._patience
        if call.answered.is_set():
            return patience.first_event_budget - waited
        return patience.first_byte_budget - waited

    async def _judge(self, refused: _Refused, key: ApiKey) -> None:
        verdict = refused.verdict
        if verdict.rest:
            await self._cooldowns.cool(key.fingerprint, verdict.rest)
        if verdict.context_too_long:
            raise ContextTooLong("The conversation is too long for the model.")
        if verdict.request_at_fault:
            raise InvalidRequest("The AI service did not accept the request.")
        if verdict.misdirected:
            raise refused.error

    async def _try(self, call: Call, key: ApiKey, *, last: bool) -> Opened:
        left = self._time_left(call)
        # With nobody else to ask, the last one may have all the time there is.
        patient = last and not call.gate_open
        limit = left if patient else min(self._patience.try_timeout, left)
        try:
            async with asyncio.timeout(limit):
                response = await self._upstream.send(call.body, key.secret)
        except TimeoutError as error:
            raise _Refused(Refusal("silent"), GatewayTimeout(SILENT)) from error
        except HostUnreachable as error:
            raise _Refused(Refusal("unreachable")) from error
        except CertificateRejected as error:
            raise _Refused(Refusal("certificate", misdirected=True)) from error
        try:
            return await self._first_event(call, key, response)
        except BaseException:
            response.close()
            raise

    async def _first_event(self, call: Call, key: ApiKey, response: UpstreamResponse) -> Opened:
        now = self._clock.now()
        if response.status != 200:
            body = await self._error_body(response)
            verdict = refusal(response.status, response.headers, body, now=now, rest=self._cooldown)
            raise _Refused(verdict, _error_of(verdict))
        if not _is_stream(response.headers):
            body = await self._error_body(response)
            if isinstance(body.get("error"), dict):
                raise self._in_band(InBandError(error_status(body), body), response)
            raise _Refused(wrong_body("not_sse", now=now, rest=self._cooldown))
        call.answered.set()
        stream = Stream(response, call.completion, key.secret)
        deadline = self._clock.monotonic() + self._patience.first_event_timeout
        try:
            while not stream.over:
                left = min(deadline - self._clock.monotonic(), self._time_left(call))
                if chunks := await stream.read(max(left, 0.001)):
                    return Opened(stream, chunks)
        except TimeoutError as error:
            raise _Refused(Refusal("no_event"), GatewayTimeout(SILENT)) from error
        except ConnectionLost as error:
            raise _Refused(Refusal("reset")) from error
        except InBandError as error:
            raise self._in_band(error, response) from error
        except (MalformedChunk, EventTooLarge) as error:
            raise _Refused(wrong_body("malformed", now=now, rest=self._cooldown)) from error
        raise _Refused(wrong_body("empty", now=now, rest=self._cooldown))

    def _in_band(self, error: InBandError, response: UpstreamResponse) -> _Refused:
        now = self._clock.now()
        verdict = refusal(error.status, response.headers, error.body, now=now, rest=self._cooldown)
        return _Refused(verdict, _error_of(verdict))

    async def _error_body(self, response: UpstreamResponse) -> Mapping[str, object]:
        """The JSON of an error answer, {} if it is none; read for a hint only, so not for long."""
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(1.0):
                while part := await response.read(1.0):
                    parts.append(part)
                    if sum(map(len, parts)) > _MAX_ERROR_BODY:
                        return {}
            body = json.loads(b"".join(parts))
        except (TimeoutError, ConnectionLost, ValueError, RecursionError):
            return {}
        finally:
            response.close()
        return cast(Mapping[str, object], body) if isinstance(body, dict) else {}


def _is_stream(headers: Mapping[str, str]) -> bool:
    return (
        headers.get("content-type", "").startswith("text/event-stream")
        and headers.get("content-encoding", "identity") == "identity"
    )


def _error_of(verdict: Refusal) -> KefuError:
    """What to tell the client if no other key helps, though some are still free."""
    if verdict.rest and verdict.rest.reason is Reason.RATE_LIMITED:
        return RateLimited("Too many requests right now. Please wait a moment.", retry_after=1)
    return UpstreamUnavailable(_UNAVAILABLE, retry_after=1)
