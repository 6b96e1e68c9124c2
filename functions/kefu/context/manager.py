"""Keeps a running conversation within its token budget, and reports its use of tokens."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from kefu.context.budget import Budget
from kefu.context.cost import CALIBRATED, AnyCounter, counter_for, message_counter
from kefu.context.ledger import Ledger
from kefu.context.reports import Compaction, Forecast, Removed, State
from kefu.context.state import TrimState
from kefu.context.trim import STRATEGIES
from kefu.context.trim.summary import Summarize, summary
from kefu.context.window import Window
from kefu.messages import Message

_NEAR_FULL_SHARE = 0.8


class MessageContextManager:
    """A conversation with a token budget. Each message is counted once, when it is added.

    Only `compact`, `summarize` and `clear` remove messages. Not safe for use by several threads.
    The manager holds `kefu.context.Message`; for messages of other APIs there is `trim_messages`.

    Example::

        talk = MessageContextManager(Budget.for_model("gpt-4o"), "You are helpful.")
        number = talk.add(Message("user", "My order is A4711."))
        talk.pin(number)
        window = talk.window()
    """

    def __init__(
        self,
        budget: Budget,
        system_prompt: str = "",
        strategy: str = "fifo",
        counter: AnyCounter | None = None,
    ) -> None:
        """`strategy` is a name of `STRATEGIES` or `summary`.

        `summary` trims like `fifo`; the caller then awaits `summarize` to make the summary.
        `counter`: see `message_counter`; by default it follows `budget.model`, else `calibrated`.
        Raises ValueError for an unknown strategy, and the errors of `message_counter`.
        """
        if strategy != "summary" and strategy not in STRATEGIES:
            names = ", ".join([*STRATEGIES, "summary"])
            raise ValueError(f"There is no strategy {strategy!r}. There are: {names}.")
        self._plan = STRATEGIES["fifo" if strategy == "summary" else strategy]
        if counter is not None:
            self._count = message_counter(counter)
        else:
            self._count = counter_for(budget.model) if budget.model else CALIBRATED
        if self._count.safety > 1:
            budget = budget._replace(limit=int(budget.room / self._count.safety), reserve=0)
        self._count = self._count.within(budget.room)
        self.budget = budget
        """The budget, in the counter's unit; less the safety factor of an estimate."""
        self._next_id = 0
        self._sent: tuple[int, int] | None = None
        self._measured = (0, 0)
        """The tokens of a prompt as the provider counted them, and as the counter does."""
        self._reset()
        if system_prompt:
            self.add(Message("system", system_prompt))

    def add(self, message: Message) -> int:
        """Append a message. Returns its id, for `pin`. Nothing is removed; see `over_limit`."""
        id = self._take_id()
        self._append(message, id)
        return id

    @property
    def over_limit(self) -> bool:
        """Whether the whole conversation exceeds the limit, so that `window` leaves some out."""
        return self._used() > self.budget.room

    @property
    def messages(self) -> Sequence[Message]:
        """All messages of the conversation, oldest first, for storing them."""
        return tuple(self._ledger.messages)

    def __len__(self) -> int:
        """The number of messages, the system prompt included."""
        return len(self._ledger.messages)

    def can_add(self, message: Message) -> Forecast:
        """The budget after adding this message. The message is counted, but not added."""
        tokens = self._count(message)
        used, room = self._ledger.priming + self._ledger.after(message, tokens), self.budget.room
        return Forecast(used <= room, used > _NEAR_FULL_SHARE * room, tokens, max(0, room - used))

    def window(self) -> Window:
        """The messages to send to the model now, in order.

        Messages that are added later do not change a window.
        """
        window = self._plan(self._ledger, self.budget)
        self._sent = len(self._ledger.messages), self._ledger.counted(window)
        if self.budget.trim_step:
            self._ledger.kept_from = window.kept_from
        return window

    def calibrate(self, prompt_tokens: int) -> None:
        """Correct the estimates by the provider's count (`usage.prompt_tokens`) of the last window.

        The costs of all messages up to that window are scaled to match. Later messages keep their
        estimates. Does nothing if `window` has not been called since the last compaction.
        """
        priming = self._ledger.priming
        if self._sent and self._sent[1] > 0 and prompt_tokens > priming:
            self._measured = prompt_tokens - priming, self._sent[1]
            self._ledger.measured(self._sent[0], *self._measured)

    def dump(self) -> TrimState:
        """The cut and the calibration, to store with the messages; `TrimState.dump` is its JSON."""
        from kefu.context.wire.marks import mark

        cut, (measured, counted) = self._ledger.kept_from, self._measured
        return TrimState(
            cut=cut,
            cut_mark=mark(self._ledger.messages, cut),
            measured=measured,
            measured_as=counted,
        )

    def load(self, state: TrimState) -> None:
        """Take over the state of an earlier process, after the same messages have been added."""
        from kefu.context.wire.marks import belongs

        messages = self._ledger.messages
        if state.cut and belongs(messages, state.cut, state.cut_mark):
            self._ledger.kept_from = state.cut
        if state.measured and state.measured_as:
            self._measured = state.measured, state.measured_as
            self._ledger.measured(len(messages), *self._measured)

    def compact(self) -> Compaction:
        """Remove the messages that `window` leaves out. Removed messages cannot be restored."""
        return Compaction(self._remove_left_out(self.window()))

    async def summarize(self, summarize: Summarize) -> Compaction:
        """Replace the messages that do not fit with a summary. Does nothing while all messages fit.

        If `summarize` fails, nothing is removed and `window` trims like `fifo`; the next call tries
        again. Messages added during the call are kept. If `compact` or `clear` runs during the
        call, the summary is discarded and `fallback` is `changed`.
        """
        ledger = self._ledger
        window = await summary(ledger, self.budget, summarize, self._count)
        if window.fallback or "summarized" not in window.reasons:
            return Compaction((), window.fallback)
        if ledger is not self._ledger:
            return Compaction((), "changed")
        return Compaction(self._remove_left_out(window, window.messages[ledger.systems]))

    def pin(self, id: int, pinned: bool = True) -> None:
        """Pin or unpin a message for `keep_important`. `id` as returned by `add`.

        Raises ValueError if the conversation has no message with this id.
        """
        if id not in self._ids:
            raise ValueError(f"The conversation has no message with the id {id!r} from `add`.")
        self._ledger.pin(self._ids.index(id), pinned)

    def clear(self) -> None:
        """Remove all messages but the system prompt, and the correction of `calibrate`."""
        prompts = self._ledger.messages[: self._ledger.systems]
        ids = self._ids
        self._measured = (0, 0)
        self._reset()
        for message, number in zip(prompts, ids, strict=False):
            self._append(message, number)

    def state(self) -> State:
        """The current use of the budget."""
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

    def _reset(self) -> None:
        self._ledger = Ledger(self._count, self._count.priming)
        self._ids = array("I")
        self._roles: Counter[str] = Counter()
        self._sent = None

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _remove_left_out(
        self, window: Window, summary_message: Message | None = None
    ) -> tuple[Removed, ...]:
        """Remove the messages that the window leaves out; insert their summary if there is one."""
        old, ids = self._ledger, self._ids
        summary_id = None if summary_message is None else self._take_id()
        reasons = {at: run.reason for run in window.left_out for at in range(run.start, run.stop)}
        self._reset()
        for at, message in enumerate(old.messages):
            if summary_message is not None and summary_id is not None and at == old.systems:
                self._append(summary_message, summary_id)
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
