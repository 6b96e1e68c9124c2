"""The search for the key that answers a request: the only retry loop of Kefu.

A key that fails is replaced by the next one at once. A key that is silent is not dropped: after
`hedge_after` seconds the next one is asked beside it, and the first content wins. No key is asked
twice for one request, at most two are asked at once, and after the first content none is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from kefu.errors import ContextTooLong, GatewayTimeout, KefuError
from kefu.relay.attempt import ModelProvider, RunningAttempt, Stream
from kefu.relay.call import Call, Clock
from kefu.relay.failures import SILENT_MESSAGE, Failed, reaction_to
from kefu.relay.key_pool import ApiKey, CooldownStore, exhausted
from kefu.relay.parameters import refused_parameter
from kefu.relay.time_limits import RelayOptions

AT_ONCE = 2
"""Keys that may be asked at the same time, since each of them may be billed."""

MAX_THINKING_KEYS = 3
"""Keys that may each think for `stall` seconds, without any content."""

MAX_SAID = 4096
"""Bytes of a refused response that are kept for the operator."""

NEVER_SECONDS = float("inf")


class Parts(NamedTuple):
    """The parts that all requests of a relay share."""

    providers: Sequence[ModelProvider]
    """The first is asked; the second is the reserve."""
    cooldowns: CooldownStore
    clock: Clock
    options: RelayOptions


class _Candidate(NamedTuple):
    provider: ModelProvider
    key: ApiKey


class KeySearch:
    """The search of one request, which runs inside `step`."""

    def __init__(self, call: Call, parts: Parts) -> None:
        self.opened: Stream | None = None
        """Set with the first content."""
        self._call = call
        self._parts = parts
        self._providers = parts.providers[1:] if call.only_fallback else parts.providers
        self._options = parts.options
        self._limits = parts.options.limits
        self._monotonic = parts.clock.monotonic
        self._running: dict[asyncio.Task[Stream], RunningAttempt] = {}
        """In the order in which the keys were asked."""
        self._tried: list[_Candidate] = []
        self._misconfigured: list[ModelProvider] = []
        self._error: KefuError | None = None
        """The error of the attempt that failed last."""
        self._nobody_left = False
        self._hedged = False
        self._winner: RunningAttempt | None = None
        self._closing: set[asyncio.Task[object]] = set()
        self._news: asyncio.Future[None] | None = None
        """Done when an upstream answers with status 200, if somebody waits for that."""

    @property
    def answered(self) -> bool:
        """Whether an upstream has answered with status 200 and is thinking."""
        return any(one.answered for one in self._running.values())

    async def step(self, until: float, *, or_answered: bool = False) -> None:
        """Search for the first content, which sets `opened`. Returns at the monotonic time `until`.

        With `or_answered` the wait ends also when `answered` holds. Raises a KefuError when no key
        gives an answer.
        """
        while not self.opened and not (or_answered and self.answered):
            await self._ask_if_due()
            if not self._running:
                raise await self._give_up()
            wake_at = min(self._ask_at(), self._deadline(), until)
            waited: list[asyncio.Future[Any]] = [*self._running]
            if or_answered:
                self._news = asyncio.get_running_loop().create_future()
                waited.append(self._news)
            timeout = max(0.001, wake_at - self._monotonic())
            await asyncio.wait(waited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            self._news = None
            done = [task for task in self._running if task.done()]
            done.sort(key=lambda one: one.exception() is None)  # failed attempts first
            for task in done:
                if await self._has_won(task):
                    self.opened = task.result()
                    break
            now = self._monotonic()
            if not done and now >= self._deadline():
                raise self._timeout()
            if not done and now >= until:
                break

    # When another key is asked, and when the search ends. Times are from the monotonic clock.

    def _ask_at(self) -> float:
        """The time at which another key is to be asked.

        A key that is only tried again is no reason to wait.
        """
        running, limits = list(self._running.values()), self._limits
        if not running:
            return -NEVER_SECONDS
        if self._nobody_left:
            return NEVER_SECONDS
        asked = [one for one in running if not one.tried_again] or running
        first, newest = asked[0], asked[-1]
        if len(asked) < AT_ONCE:
            # A model may be thinking after its status 200, and two requests would be billed.
            pace = running[0].provider.pool.pace
            after = pace.hedge_after(limits, again=self._hedged)
            return newest.started + (limits.stall if newest.answered else after)
        if first.provider is not newest.provider:
            return NEVER_SECONDS
        if first.answered or newest.answered:
            return newest.started + limits.stall
        # Two keys of one silent upstream: the other upstream gets a chance before time is up.
        return self._call.started + limits.fallback_after

    def _deadline(self) -> float:
        """The time at which the search ends without an answer."""
        call, running, limits = self._call, list(self._running.values()), self._limits
        end = call.started + limits.max_duration
        if thinking := [one for one in running if one.answered]:
            gave_up = sum(attempt.outcome == "no_event" for attempt in call.attempts)
            enough = gave_up + len(thinking) >= MAX_THINKING_KEYS
            return min(end, thinking[-1].started + limits.stall) if enough else end
        since = call.started
        if call.gate_open:  # the client gets pings, so each key has the time of the first key
            since = running[-1].started if running else self._monotonic()
        return min(since + limits.first_byte, end)

    # Asking

    async def _ask_if_due(self) -> None:
        if self._monotonic() < self._ask_at():
            return
        candidate = await self._candidate()
        if any(task.done() for task in self._running):
            return  # the ended attempt may be the answer
        if candidate is None:
            self._nobody_left = True
        elif self._monotonic() >= self._deadline():
            raise self._timeout()
        else:
            if len(self._running) == AT_ONCE:
                # The key that was tried again, else the oldest key.
                silent = max(self._running, key=lambda task: self._running[task].tried_again)
                self._end(silent, "silent", failing=True)
            pool = candidate.provider.pool
            if not self._tried:
                pool.pace.begin()
            elif self._running and not self._hedged:
                self._hedged = True
                pool.pace.hedged()
            self._ask(candidate)
            if len(self._tried) == 1 and pool.failing and self._options.max_retries:
                await self._try_again(candidate)

    async def _try_again(self, asked: _Candidate) -> None:
        """Beside the first key of a request, ask a failing one whose time is over."""
        pool, now = asked.provider.pool, self._parts.clock.now()
        if asked.key.fingerprint in pool.failing:
            return
        if key := pool.to_try_again(await self._parts.cooldowns.cooldowns(), now):
            # Called before the outcome is known: one request at a time tries a failing key.
            pool.mark_failing(key, now)
            self._ask(_Candidate(asked.provider, key), tried_again=True)

    async def _candidate(self) -> _Candidate | None:
        """The next key to ask: failing keys last, else keys of the first upstream first."""
        parts, left = self._parts, 1 + self._options.max_retries - len(self._tried)
        view, now = await parts.cooldowns.cooldowns(), parts.clock.now()
        candidates = [
            candidate
            for provider in self._providers
            if provider not in self._misconfigured
            for key in provider.pool.candidates(view, now)
            if (candidate := _Candidate(provider, key)) not in self._tried
        ]
        reserve = [one for one in candidates if one.provider is not parts.providers[0]]
        if reserve:  # the keys of one upstream are in this order already
            candidates.sort(key=lambda one: one.provider.pool.rank(one.key, now))
        if left == 1 and self._tried:
            candidates = reserve or candidates  # the last attempt is kept for the other upstream
        asked = [one for one in self._running.values() if not one.tried_again]
        if len(asked) == AT_ONCE and not any(one.answered for one in asked):
            candidates = reserve
        return candidates[0] if candidates and left > 0 else None

    def _ask(self, candidate: _Candidate, *, tried_again: bool = False) -> None:
        candidate.provider.pool.mark_used(candidate.key)
        self._tried.append(candidate)
        started, until = self._monotonic(), self._call.started + self._limits.max_duration
        attempt = RunningAttempt(candidate.provider, candidate.key, started, tried_again)
        asking = attempt.first_content(self._call, self._parts.clock, until, self._note_answered)
        self._running[asyncio.create_task(asking)] = attempt
        self._call.prompts_sent += 1

    def _note_answered(self, attempt: RunningAttempt) -> None:
        attempt.provider.pool.pace.answered(self._monotonic() - attempt.started)
        if self._news and not self._news.done():
            self._news.set_result(None)

    # The ends of attempts

    async def _has_won(self, task: asyncio.Task[Stream]) -> bool:
        """Whether an attempt that has ended has content. Reacts to a failure."""
        # The error is not raised here: its traceback would refer to this frame, and so to the task.
        error = task.exception()
        if isinstance(error, Failed):
            await self._failed(task, error)
            return False
        if error:  # from another Kefu server, which has already retried
            del self._running[task]
            raise error
        completion = task.result().completion
        says_nothing = completion.finish_reason == "stop" and not completion.has_text
        if says_nothing and (len(self._running) > 1 or await self._candidate()):
            await self._failed(task, Failed("no_text"))
            return False
        self._winner = winner = self._running.pop(task)
        winner.provider.pool.mark_answering(winner.key)
        for other, attempt in list(self._running.items()):
            # An earlier key was silent for too long; a later key has had no time to answer.
            is_late = attempt.started < winner.started
            self._end(other, "silent" if is_late else "overtaken", failing=is_late)
        self._call.attempts.append(winner.record("ok", self._monotonic()))
        self._call.completion = completion
        self._call.first_event_at = self._monotonic()
        return True

    async def _failed(self, task: asyncio.Task[Stream], failed: Failed) -> None:
        parts, attempt = self._parts, self._running[task]
        now, cooldown = parts.clock.now(), self._options.cooldown
        reaction = reaction_to(failed, now=now, cooldown=cooldown, sent=attempt.sent)
        self._call.prompts_sent -= not failed.billed
        self._end(
            task,
            failed.outcome,
            failing=reaction.failing,
            cooled_down=reaction.cooldown is not None,
            said=failed.said,
        )
        self._nobody_left = False
        if reaction.cooldown:
            await parts.cooldowns.cool(attempt.key.fingerprint, reaction.cooldown)
        if reaction.misconfigured:
            self._misconfigured.append(attempt.provider)
        self._error = reaction.error
        is_too_long = isinstance(reaction.error, ContextTooLong)  # which may name max_tokens
        if reaction.is_final and (is_too_long or not self._asked_otherwise(attempt, failed)):
            raise reaction.error

    def _asked_otherwise(self, attempt: RunningAttempt, failed: Failed) -> bool:
        """Whether the same key is asked again, once for each parameter that the model refuses.

        Also whether such an attempt is running already.
        """
        refused = refused_parameter(failed.body)
        instead = refused and attempt.provider.parameters.learn(attempt.sent, refused)
        adapted = self._call.adapted
        if not instead or instead in adapted:
            return bool(instead and self._running)
        self._call.adapted = f"{adapted}; {instead}" if adapted else instead
        self._ask(_Candidate(attempt.provider, attempt.key), tried_again=attempt.tried_again)
        return True

    async def _give_up(self) -> KefuError:
        """The error for the client, with `should_retry` False, as the relay has retried."""
        view, now = await self._parts.cooldowns.cooldowns(), self._parts.clock.now()
        pools = [provider.pool for provider in self._providers]
        if self._error and any(pool.free(view, now) for pool in pools):
            self._error.should_retry = False
            return self._error
        keys = [key for pool in pools for key in pool.keys]
        self._call.all_keys_cooling = bool(keys)
        return exhausted(keys, view, now)

    def _timeout(self) -> GatewayTimeout:
        for task in list(self._running):
            self._end(task, "silent", failing=True)
        return GatewayTimeout(SILENT_MESSAGE, should_retry=False)

    def _end(
        self,
        task: asyncio.Task[Stream],
        outcome: str,
        *,
        failing: bool = False,
        cooled_down: bool = False,
        said: str = "",
    ) -> None:
        """Close the connection of an attempt, and record its outcome."""
        attempt = self._running.pop(task)
        self._close(task)
        if outcome == "silent" and attempt.answered:
            outcome = "no_event"
        if failing and not attempt.tried_again:
            attempt.provider.pool.mark_failing(attempt.key, self._parts.clock.now())
        attempt.provider.pool.count_outcome(attempt.key.fingerprint, outcome)
        said = self._options.redact(said).encode()[:MAX_SAID].decode(errors="ignore")
        record = attempt.record(outcome, self._monotonic())
        record = record._replace(failing=failing, cooled_down=cooled_down, said=said)
        self._call.attempts.append(record)

    def broke(self, outcome: str) -> None:
        attempts, winner = self._call.attempts, self._winner
        if winner:
            now = self._parts.clock.now()
            winner.provider.pool.mark_failing(winner.key, now, cuts=True)
            attempts[-1] = attempts[-1]._replace(outcome=outcome, failing=True)

    async def aclose(self) -> None:
        for task in list(self._running):
            self._end(task, "cancelled")
        if winner := self._winner:
            pool, outcome = winner.provider.pool, self._call.attempts[-1].outcome
            pool.count_outcome(winner.key.fingerprint, outcome)
            if outcome == "ok" and self._call.completion.finish_reason:
                pool.mark_answering(winner.key, whole=True)
            self._winner = None
        if self.opened:
            await self.opened.aclose()
        if self._closing:
            await asyncio.wait(self._closing)
        self._closing.clear()  # an ended attempt refers to this search

    def _close(self, task: asyncio.Task[Stream]) -> None:
        """Cancel an attempt, or close the stream that it has opened, without waiting for it."""
        if task.done() and not task.cancelled() and not task.exception():
            self._closing.add(asyncio.create_task(task.result().aclose()))
        else:
            task.cancel()
            self._closing.add(task)
