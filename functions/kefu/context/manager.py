"""A running conversation: what it costs, what of it fits, and what it may lose."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping

from kefu.context.budget import Budget
from kefu.context.cost import MessageCounter, message_counter
from kefu.context.ledger import Ledger
from kefu.context.trim import STRATEGIES
from kefu.context.trim.summary import Summarize, summary
from kefu.context.window import Reason, Window
from kefu.lean_typing import NamedTuple
from kefu.messages import Message

_NEAR = 0.8


class Removed(NamedTuple):
    id: int
    """The how-manieth it was to come, from 0; the system prompt counts."""
    tokens: int
    reason: Reason
    summary_id: int | None
    """Of the summary that tells of it."""


class Compaction(NamedTuple):
    removed: tuple[Removed, ...]
    fallback: str = ""
    """Why there is no summary, where one was wanted. Then nothing was removed."""


class Forecast(NamedTuple):
    fits: bool
    """With this message the whole conversation is still within the limit."""
    near: bool
    """Four fifths of the limit are passed, or soon will be: time to compact."""
    tokens: int
    """What the message costs."""
    remaining: int
    """What would be left then; never below 0."""


class State(NamedTuple):
    used: int
    """Tokens of the whole conversation, so it may be more than the limit."""
    remaining: int
    limit: int
    """What a prompt may have: the model's window without the reserve for the answer."""
    resolved: bool
    """Whether the model's window is known; False: it is a careful guess."""
    messages: int
    roles: Mapping[str, int]
    """How many of which role; a summary counts as `summary`."""
    over_budget: bool
    """Of the window: what must not be left out does not fit."""
    dropped: int
    """How many messages the window leaves out."""


class MessageContextManager:
    """Counts a message once, when it comes; the window is found without looking at the others.

    Nothing is ever removed but by `compact`, `summarize` and `clear`. Not for several threads at
    once.
    """

    def __init__(
        self,
        budget: Budget,
        system_prompt: str = "",
        strategy: str = "fifo",
        counter: str | MessageCounter = "calibrated",
    ) -> None:
        """A strategy of `STRATEGIES`, or `summary`: that is `fifo` until `summarize` is awaited.

        KeyError for another name; for a counter's name see `message_counter`.
        """
        self.budget = budget
        self._plan = STRATEGIES["fifo" if strategy == "summary" else strategy]
        self._count = message_counter(counter) if isinstance(counter, str) else counter
        self._next_id = 0
        self._sent: tuple[int, int] | None = None
        self._renew()
        if system_prompt:
            self.add(Message("system", system_prompt))

    def add(self, message: Message) -> bool:
        """Append; whether the whole conversation now exceeds the limit. Nothing is trimmed."""
        self._append(message, self._take_id())
        return self._used() > self.budget.room

    def can_add(self, message: Message) -> Forecast:
        """What `add` would lead to. Costs one count, changes nothing."""
        tokens = self._count(message)
        used, room = self._ledger.priming + self._ledger.after(message, tokens), self.budget.room
        return Forecast(used <= room, used > _NEAR * room, tokens, max(0, room - used))

    def window(self) -> Window:
        """What goes to the model now, in order. A view: it stays as it is when messages come."""
        window = self._plan(self._ledger, self.budget)
        total = len(self._ledger.messages)
        out = sum(self._ledger.counted(start, stop) for start, stop, _ in window.left_out)
        self._sent = total, self._ledger.counted(0, total) - out
        return window

    def calibrate(self, prompt_tokens: int) -> None:
        """The provider's count (`usage.prompt_tokens`) of the prompt that was the last window.

        From now on only what has come since that window is estimated; before, the estimate is
        corrected in proportion. Without a window since the last `compact` it does nothing.
        """
        priming = self._ledger.priming
        if self._sent and self._sent[1] > 0 and prompt_tokens > priming:
            self._ledger.measured(self._sent[0], prompt_tokens - priming, self._sent[1])

    def compact(self) -> Compaction:
        """Remove for good what the window leaves out."""
        return Compaction(self._keep(self.window()))

    async def summarize(self, summarize: Summarize) -> Compaction:
        """Put a summary in the place of what does not fit; nothing happens while all of it fits.

        When the summariser fails, nothing is removed, `window` leaves out what `fifo` would, and
        the next call tries again. What is added while it works stays; a `compact` or `clear`
        meanwhile makes its answer void.
        """
        ledger = self._ledger
        window = await summary(ledger, self.budget, summarize, self._count)
        if window.fallback or "summarized" not in window.reasons:
            return Compaction((), window.fallback)
        if ledger is not self._ledger:
            return Compaction((), "changed")
        return Compaction(self._keep(window, window.messages[ledger.systems]))

    def pin(self, id: int, pinned: bool = True) -> None:
        """Mark a message as important, for `keep_important`. ValueError if it is not there."""
        self._ledger.pin(self._ids.index(id), pinned)

    def clear(self) -> None:
        """Remove all but the system prompt, and forget what was counted."""
        prompts = self._ledger.messages[: self._ledger.systems]
        ids = self._ids
        self._renew()
        for message, number in zip(prompts, ids, strict=False):
            self._append(message, number)

    def state(self) -> State:
        window = self._plan(self._ledger, self.budget)
        used, room = self._used(), self.budget.room
        return State(
            used=used,
            remaining=max(0, room - used),
            limit=room,
            resolved=self.budget.resolved,
            messages=len(self._ids),
            roles=dict(self._roles),
            over_budget=window.over_budget,
            dropped=len(window.dropped),
        )

    def _used(self) -> int:
        return self._ledger.priming + self._ledger.cost(0, len(self._ledger.messages))

    def _append(self, message: Message, id: int, cost: int | None = None) -> None:
        self._ledger.add(message, cost)
        self._ids.append(id)
        self._roles["summary" if message.summary else message.role] += 1

    def _renew(self) -> None:
        self._ledger = Ledger(self._count, self._count.priming)
        self._ids = array("I")
        self._roles: Counter[str] = Counter()
        self._sent = None

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _keep(self, window: Window, told: Message | None = None) -> tuple[Removed, ...]:
        """Remove what the window leaves out; `told` is the summary of it."""
        old, ids = self._ledger, self._ids
        summary_id = None if told is None else self._take_id()
        reasons = {at: run.reason for run in window.left_out for at in range(run.start, run.stop)}
        self._renew()
        for at, message in enumerate(old.messages):
            if told is not None and summary_id is not None and at == old.systems:
                self._append(told, summary_id)
            if at not in reasons:
                self._append(message, ids[at], old.cost(at, at + 1))
        return tuple(
            Removed(
                ids[at],
                old.cost(at, at + 1) or self._count(old.messages[at]),
                reason,
                summary_id if reason == "summarized" else None,
            )
            for at, reason in reasons.items()
        )
