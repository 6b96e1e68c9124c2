"""Runs the steps of all hooks. A failing or slow hook changes nothing but a line in the log.

Each step that delays an answer has a time limit for all hooks together, so that the visitor still
gets the first byte in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, cast

from kefu.messages import Message
from kefu.sessions.hooks.calls import Calls, HookFailed, TimedOut
from kefu.sessions.hooks.filters import GuardedFilter
from kefu.sessions.hooks.hook import EndedTurn, Filter, HookContext, Reply
from kefu.sessions.hooks.loading import LoadedHook
from kefu.sessions.store.contacts import ContactRequest

BEFORE_SAVING = 0.5
"""Seconds for all `user_message` of one message."""
BEFORE_MODEL = 2.0
"""Seconds for all `history` and `context` of one message, which run side by side. The hook
`summary` takes up to 1.5 seconds.
"""
BACKGROUND_SECONDS = 10.0
"""Seconds for a function that runs in the background."""

ON_AWS = 5.0
"""Seconds that a request waits for functions in the background, in a Lambda instance: it is frozen
after its response."""

CLOSING_SECONDS = 1.0
"""Seconds for functions in the background when the server stops."""

MAX_ADDED_CHARS = 20_000
"""Characters that one hook may add to a message or to the system prompt."""

MAX_TIMEOUTS, PAUSE_SECONDS = 3, 60.0
"""A function with this many time-outs in a row is not called for this many seconds."""

_FAILED = object()

Subject = EndedTurn | ContactRequest | Callable[[], Awaitable[EndedTurn]]
"""What functions in the background are called with, or a function that reads it from the store."""


class _Step:
    """One function of one hook."""

    def __init__(self, hook: LoadedHook, name: str) -> None:
        self.hook = hook
        self.name = name
        self._function = hook.steps[name]
        self._timeouts = 0
        self._paused_until = float("-inf")

    async def call(self, calls: Calls, args: tuple[object, ...], seconds: float) -> object:
        """Raises HookFailed."""
        now = asyncio.get_running_loop().time
        if now() < self._paused_until:
            raise HookFailed(f"is left out after {MAX_TIMEOUTS} time-outs")
        try:
            result = await calls.call(self._function, args, seconds, is_ours=self.hook.is_ours)
        except TimedOut:
            self._timeouts += 1
            if self._timeouts >= MAX_TIMEOUTS:
                self._paused_until = now() + PAUSE_SECONDS
            raise
        self._timeouts = 0
        return result


class Preprocessed(NamedTuple):
    """The text to save, and the reply of a hook, or None."""

    text: str
    reply: str | None


class Hooks:
    """The hooks of a service, in their order."""

    def __init__(
        self, hooks: Sequence[LoadedHook], on_fault: Callable[[str], None], wait: float = 0.0
    ) -> None:
        """`on_fault` receives why a function failed, for the log.

        `wait`: the seconds that `tell` waits for functions in the background.
        """
        self._steps: dict[str, list[_Step]] = {}
        for hook in hooks:
            for name in hook.steps:
                self._steps.setdefault(name, []).append(_Step(hook, name))
        self._on_fault = on_fault
        self._wait = wait
        self._calls = Calls()
        self._background: set[asyncio.Task[None]] = set()

    def has(self, step: str) -> bool:
        return step in self._steps

    @property
    def repeats_messages(self) -> bool:
        """Whether `user_message` returns the same text each time, as Kefu's own hooks do."""
        return all(step.hook.is_ours for step in self._steps.get("user_message", ()))

    async def user_message(
        self, text: str, visit: HookContext, clean: Callable[[str], str]
    ) -> Preprocessed:
        """`clean` is applied to each changed text. A Reply ends the step."""
        until = _now() + BEFORE_SAVING
        for step in self._steps.get("user_message", ()):
            longest = len(text) + MAX_ADDED_CHARS
            changed = await self._called(step, (text, visit), until)
            if changed is _FAILED or not self._is_text(step, changed, longest):
                continue
            if not isinstance(changed, Reply):
                text = clean(str(changed))
            elif changed.strip():
                return Preprocessed(text, str(changed))
            else:
                self._failed(step, "returned an empty Reply")
            if not text:
                break
        return Preprocessed(text, None)

    async def history(self, visit: HookContext, until: float) -> Sequence[Message]:
        """`visit.history` as the hooks change it."""
        history = visit.history
        for step in self._steps.get("history", ()):
            changed = await self._called(step, (history, visit), until)
            if _is_history(changed):
                history = cast(Sequence[Message], changed)
            elif changed is not _FAILED:
                self._failed(step, "returned no list of messages of visitor and assistant")
        return history

    async def context(self, question: str, visit: HookContext, until: float) -> list[str]:
        """The texts for the system prompt, in the order of the hooks, which run side by side."""
        steps = list(self._steps.get("context", ()))
        found = await asyncio.gather(
            *(self._called(step, (question, visit), until) for step in steps)
        )
        return [
            str(text)
            for step, text in zip(steps, found, strict=True)
            if text not in (_FAILED, None, "") and self._is_text(step, text, MAX_ADDED_CHARS)
        ]

    def filters(self, visit: HookContext, field: str) -> list[Filter | GuardedFilter]:
        """New filters for a text field of an answer."""
        made: list[Filter | GuardedFilter] = []
        for step in self._steps.get("output", ()):
            output = step.hook.steps["output"]
            if not step.hook.is_ours:
                create = partial(step.call, self._calls, (visit,))
                fail = partial(self._failed, step)
                made.append(GuardedFilter(self._calls, create, fail, needed=field == "content"))
            elif isinstance(own := output(visit), Filter):
                made.append(own)
        return made

    def begin(self, step: str, subject: Subject) -> asyncio.Task[None] | None:
        """Call the functions of a step in the background.

        Returns None if no hook has the step. The task of a hook never raises.
        """
        if not self.has(step):
            return None
        task = asyncio.create_task(self._told(step, subject))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def tell(self, step: str, subject: Subject) -> None:
        """Call the functions of a step in the background, as `begin` does.

        A Lambda instance is frozen after a response, so there it waits for them for a limited time.
        """
        task = self.begin(step, subject)
        if task and self._wait:
            await asyncio.wait({task}, timeout=self._wait)

    async def aclose(self) -> None:
        """Wait for functions in the background for a short time, then cancel them."""
        if self._background:
            await asyncio.wait(set(self._background), timeout=CLOSING_SECONDS)
        for task in list(self._background):
            task.cancel()
        self._calls.close()

    async def _told(self, step: str, subject: Subject) -> None:
        try:
            value = await subject() if callable(subject) else subject
        except Exception as error:  # noqa: BLE001 - such as a store that fails
            self._on_fault(f"{step} was not called: {type(error).__name__}")
            return
        until = _now() + BACKGROUND_SECONDS
        steps = self._steps.get(step, ())
        await asyncio.gather(*(self._called(one, (value,), until) for one in steps))

    async def _called(self, step: _Step, args: tuple[object, ...], until: float) -> object:
        """The result; `_FAILED` if the function failed."""
        try:
            return await step.call(self._calls, args, until - _now())
        except HookFailed as failure:
            self._failed(step, str(failure))
            return _FAILED

    def _is_text(self, step: _Step, value: object, longest: int) -> bool:
        if not isinstance(value, str):
            self._failed(step, f"returned {type(value).__name__}, not str")
        elif len(value) > longest:
            self._failed(step, f"returned more than {MAX_ADDED_CHARS:,} characters")
        elif not _is_unicode(value):
            self._failed(step, "returned a text that is no Unicode")
        else:
            return True
        return False

    def _failed(self, step: _Step, reason: str) -> None:
        self._on_fault(f"{step.hook.name}: {step.name} {reason}")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_unicode(text: str) -> bool:
    """Whether a text can be encoded: a lone surrogate cannot."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _is_history(value: object) -> bool:
    """Whether all roles are `user` or `assistant`: there is one system message already."""
    return isinstance(value, list | tuple) and all(
        isinstance(one, Message)
        and one.role in ("user", "assistant")
        and isinstance(cast(object, one.content), str)
        and _is_unicode(one.content)
        for one in value
    )
