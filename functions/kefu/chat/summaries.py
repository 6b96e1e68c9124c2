"""Summarizes messages that no longer fit into a prompt.

Summaries must never harm the chat. Summaries are written in the background and used by the next
request, a failed one does not cool a key down for answers (see `own_cooldowns`), and after a
failure the pause until the next one doubles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from kefu.chat.admission import Admission
from kefu.chat.prompt import Memory, Sampling, request_body
from kefu.chat.summary_prompt import (
    SUMMARY_ASK,
    SUMMARY_TASK,
    SUMMARY_TOKENS,
    summary_messages,
    transcript,
    whole_sentences,
)
from kefu.chat.trim_memory import Prefix, ProcessMemory, prefixes
from kefu.context import ToSummarize
from kefu.context.tokens import estimate_tokens_v1
from kefu.errors import KefuError
from kefu.messages import Message
from kefu.relay.call import Call, Clock
from kefu.relay.chunks import Completion
from kefu.relay.collected import Collected
from kefu.relay.relay import Relay


class SummaryCall(NamedTuple):
    """A finished request to the model that is no answer, such as one for a summary."""

    call: Call
    collected: Collected
    error: KefuError | None
    """Why the answer is incomplete; None if it is complete."""
    purpose: Literal["summary", "search"] = "summary"
    """`search`: the call wrote words for a search of the site's pages."""


OnCall = Callable[[SummaryCall], None]

_TEMPERATURE = 0.3

_MAX_SUMMARY_CHARS = 4_000
"""Characters of a summary, of which the rest is cut off: a model may ignore `max_tokens`."""


class SummaryPolicy(NamedTuple):
    wait: float = 1.5
    """Seconds that a hook waits for a summary; a later summary is cached for the next request."""
    max_tokens: int = SUMMARY_TOKENS
    kept: int = 1000
    """Size of the cache of this process; the least recently used summary is evicted first."""
    at_once: int = 20
    """Maximum number of summaries that are written at the same time."""
    pause: float = 60.0
    """Seconds without summaries after a failure; doubled by each further failure."""
    longest_pause: float = 3600.0


class NoSummary(Exception):
    """There is no summary in time, or the model failed. The prompt is sent without a summary."""


class Summaries:
    """Writes summaries, each in a task of its own."""

    def __init__(
        self,
        relay: Relay,
        admission: Admission,
        sampling: Sampling,
        clock: Clock,
        policy: SummaryPolicy | None = None,
    ) -> None:
        self._relay = relay
        self._admission = admission
        self._clock = clock
        self._policy = policy or SummaryPolicy()
        ours = sampling._replace(max_tokens=self._policy.max_tokens)
        self._sampling = ours.asked(_TEMPERATURE)
        self.memory = ProcessMemory(self._policy.kept)
        """The summaries and cuts of conversations that are not stored."""
        self._writing: dict[bytes, asyncio.Task[str]] = {}
        self._count = 0
        self._failures = 0
        self._paused_until = float("-inf")

    def refresh(
        self, due: ToSummarize, on_call: OnCall | None = None, memory: Memory | None = None
    ) -> None:
        """Start to write a summary in the background, unless one is being written.

        `on_call` receives the call to the model, and `memory` the summary; by default the memory of
        this process. Does nothing during the pause after a failure.
        """
        memory = memory or self.memory
        names = memory.names(due)
        if not any(name in self._writing for name in names):
            keep = partial(memory.summarized, due)
            self._start(names[-1], due.messages, due.previous, on_call, keep)

    async def write(
        self, messages: Sequence[Message], previous: str, on_call: OnCall | None = None
    ) -> str:
        """A summary of `messages`, the first ones of a conversation. Raises NoSummary.

        Implements `kefu.context.Summarize`, for hooks. `previous`, a summary from the client, is
        summarized with the messages. `on_call` receives the call to the model, even if it ends
        after this request.
        """
        if previous:
            messages = (Message("assistant", previous), *messages)
        known = list(prefixes(messages))
        for done in range(len(messages), 0, -1):
            if cached := self.memory.summary(known[done - 1]):
                if done == len(messages):
                    return cached
                return await self._wait_for(known[-1], messages[done:], cached, on_call)
        return await self._wait_for(known[-1], messages, "", on_call)

    def close(self) -> None:
        for task in self._writing.values():
            task.cancel()

    async def _wait_for(
        self, prefix: Prefix, messages: Sequence[Message], previous: str, on_call: OnCall | None
    ) -> str:
        """Wait for a summary that is written in a task of its own. Raises NoSummary.

        Concurrent requests of one conversation share the task. A cancelled request does not cancel
        the summary.
        """
        keep = partial(self.memory.keep, prefix)
        task = self._writing.get(prefix)
        task = task or self._start(prefix, messages, previous, on_call, keep)
        if task is None:
            raise NoSummary("too many summaries are being written, or the last one failed")
        if not (await asyncio.wait({task}, timeout=self._policy.wait))[0]:
            raise NoSummary("not ready in time")
        if task.cancelled() or task.exception() or not task.result():
            raise NoSummary("the model gave no summary")
        return task.result()

    def _start(
        self,
        name: bytes,
        messages: Sequence[Message],
        previous: str,
        on_call: OnCall | None,
        keep: Callable[[str], None],
    ) -> asyncio.Task[str] | None:
        """A task that writes a summary and calls `keep` with it; None if none may be written now.

        `name` identifies the summary in `_writing`.
        """
        is_paused = self._clock.monotonic() < self._paused_until
        if is_paused or len(self._writing) >= self._policy.at_once:
            return None
        task = asyncio.create_task(self._write(messages, previous, on_call))
        self._writing[name] = task
        task.add_done_callback(lambda done: self._ended(name, done, keep))
        return task

    def _ended(self, name: bytes, task: asyncio.Task[str], keep: Callable[[str], None]) -> None:
        del self._writing[name]
        if task.cancelled():
            return
        if task.exception() or not task.result():
            pause = self._policy.pause * 2.0 ** min(self._failures, 20)
            self._failures += 1
            self._paused_until = self._clock.monotonic() + min(pause, self._policy.longest_pause)
            return
        self._failures = 0
        keep(task.result())

    async def _write(
        self, messages: Sequence[Message], previous: str, on_call: OnCall | None
    ) -> str:
        """Ask the model for a summary; its tokens are taken from the daily budget."""
        conversation = transcript(messages, previous)
        prompt = estimate_tokens_v1(SUMMARY_TASK + SUMMARY_ASK) + estimate_tokens_v1(conversation)
        call = self._call(conversation)
        at_most = prompt + self._policy.max_tokens
        try:
            async with self._admission.budget(at_most, lambda: call.spent(prompt)):
                collected = await self._collected(call, on_call)
        except KefuError as error:
            raise NoSummary("the model failed") from error
        text = collected.content.strip()
        if len(text) > _MAX_SUMMARY_CHARS:
            return whole_sentences(text[:_MAX_SUMMARY_CHARS]) or text[:_MAX_SUMMARY_CHARS]
        return text if call.completion.finish_reason == "stop" else whole_sentences(text)

    def _call(self, conversation: str) -> Call:
        self._count += 1
        now = int(self._clock.now())
        completion = Completion(
            f"summary-{self._count}", self._sampling.model, now, estimate_tokens_v1
        )
        return Call(self._body(conversation), completion, self._clock.monotonic())

    async def _collected(self, call: Call, on_call: OnCall | None) -> Collected:
        collected = Collected()
        failed: KefuError | None = None
        try:
            await self._relay.complete(call, collected.add)
        except KefuError as error:
            failed = error
            raise
        finally:
            if on_call:
                on_call(SummaryCall(call, collected, failed))
        return collected

    def _body(self, conversation: str) -> bytes:
        messages = summary_messages(conversation, self._policy.max_tokens)
        return request_body(messages, self._sampling)
