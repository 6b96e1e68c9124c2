"""Keeps a running conversation within its token budget, and reports its use of tokens."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation, extent_of_prompt
from kefu.context.cost import CALIBRATED, AnyCounter, counter_for, message_counter
from kefu.context.reports import Compaction, Forecast, Removed, State
from kefu.context.running_costs import RunningCosts
from kefu.context.state import TrimState, prompt_tokens
from kefu.context.summarized import trim_with_summary
from kefu.context.summary import Summarize
from kefu.context.trim import STRATEGIES
from kefu.context.window import Span, Window, window_of
from kefu.messages import Message

_NEAR_FULL_SHARE = 0.8


class _Positions(NamedTuple):
    """Positions after `Conversation.first_turn`, in order."""

    turns: array[int]
    """The positions of the user messages."""
    systems: list[int]
    pinned: list[int]


class _RunningConversation(Conversation):
    """A conversation of which the manager knows the positions, so that nothing is searched for."""

    costs: RunningCosts

    def __init__(self, known: _Positions, *given: Any) -> None:
        self._known = known
        super().__init__(*given)

    def turns_back(
        self, floor: int, stop: int, room: int, kept: Sequence[Span] = ()
    ) -> tuple[int, int]:
        """Searches the sums of the costs; reads messages only with holes, or `kept` in between."""
        costs, turns, first = self.costs, self._known.turns, self.first_turn
        if costs.holes or any(floor <= start < stop for start, _ in kept):
            return super().turns_back(floor, stop, room, kept)
        if floor <= first <= stop and costs.cost(first, stop) <= room:
            return first, costs.cost(first, stop)
        low, high = bisect_left(turns, floor), bisect_left(turns, stop)
        at = bisect_left(turns, -room, low, high, key=lambda start: -costs.cost(start, stop))
        start = turns[at] if at < high else stop
        return start, costs.cost(start, stop)

    def turns(self, start: int, stop: int) -> Sequence[int]:
        known = self._known.turns
        return known[bisect_left(known, start) : bisect_left(known, stop)]

    def later_systems(self) -> Sequence[int]:
        return self._known.systems

    def pinned(self) -> Iterator[int]:
        return reversed(self._known.pinned)

    def _find_current(self) -> int:
        return self._known.turns[-1] if self._known.turns else -1


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
        self._new_ids = count()
        self._first_turn = 0
        """The position after the system prompt and the summary."""
        self._counted = 0
        """The counter's tokens of the last window; 0 if there is none."""
        self._measured = (0, 0)
        """The tokens of a prompt as the provider counted them, and as the counter does."""
        self._reset()
        if system_prompt:
            self.add(Message("system", system_prompt))

    def add(self, message: Message | Mapping[str, object]) -> int:
        """Append a message. Returns its id, for `pin`. Nothing is removed; see `over_limit`.

        `message` may be a chat completion's: see `Message.of`.
        """
        id = next(self._new_ids)
        own = Message.of(message)
        self._append(own, id, self._count(own))
        return id

    @property
    def over_limit(self) -> bool:
        """Whether the whole conversation exceeds the limit, so that `window` leaves some out."""
        return self._used() > self.budget.room

    @property
    def messages(self) -> Sequence[Message]:
        """All messages of the conversation, oldest first, for storing them."""
        return tuple(self._messages)

    def __len__(self) -> int:
        """The number of messages, the system prompt included."""
        return len(self._messages)

    def can_add(self, message: Message | Mapping[str, object]) -> Forecast:
        """The budget after adding this message. The message is counted, but not added."""
        own = Message.of(message)
        tokens, room = self._count(own), self.budget.room
        used = self._count.priming + self._costs.after(own, tokens)
        return Forecast(used <= room, used > _NEAR_FULL_SHARE * room, tokens, max(0, room - used))

    def window(self) -> Window:
        """The messages to send to the model now, in order.

        Messages that are added later do not change a window.
        """
        window = self._window()
        self._counted = self._costs.counted(window)
        if self.budget.trim_step:
            self._kept_from = window.kept_from
        return window

    def _window(self) -> Window:
        tokens, room = self._used(), self.budget.room
        if tokens <= room and not (self._costs.holes or self.budget.max_messages):
            end = len(self._messages)
            return window_of(self._messages, [(0, end)], (), tokens, room)
        talk = _RunningConversation(
            self._positions, self._messages, self._costs, self._count.priming, self._kept_from
        )
        return self._plan(talk, self.budget)

    def calibrate(self, usage: Any) -> None:
        """Correct the estimates by the provider's count of the last window.

        `usage`: as in `TrimState.calibrated`. The costs of all messages so far are scaled to match.
        Later messages keep their estimates. Does nothing if `window` has not been called since the
        last compaction.
        """
        tokens = prompt_tokens(usage) - self._count.priming
        if self._counted > 0 and tokens > 0:
            self._measured = tokens, self._counted
            self._costs.correct(*self._measured)

    def dump(self) -> TrimState:
        """The cut and the calibration, to store with the messages; `TrimState.dump` is its JSON."""
        from kefu.context.wire.marks import mark

        cut, (measured, counted) = self._kept_from, self._measured
        return TrimState(
            cut=cut,
            cut_mark=mark(self._messages, cut),
            measured=measured,
            measured_as=counted,
        )

    def load(self, state: TrimState) -> bool:
        """Take over the state of an earlier process, after the same messages have been added.

        Returns False, and does nothing, if the state is of other messages.
        """
        from kefu.context.wire.marks import mark

        if mark(self._messages, state.cut) != (state.cut_mark if state.cut else ""):
            return False
        self._kept_from = state.cut
        if state.measured and state.measured_as:
            self._measured = state.measured, state.measured_as
            self._costs.correct(*self._measured)
        return True

    def compact(self) -> Compaction:
        """Remove the messages that `window` leaves out. Removed messages cannot be restored."""
        return Compaction(self._remove_left_out(self.window()))

    async def summarize(self, summarize: Summarize) -> Compaction:
        """Replace the messages that do not fit with a summary. Does nothing while all messages fit.

        If `summarize` fails, nothing is removed and `window` trims like `fifo`; the next call tries
        again. Messages added during the call are kept. If `compact` or `clear` runs during the
        call, the summary is discarded and `fallback` is `changed`.
        """
        messages = self._messages
        # A correction by usage applies to the room, as in `trim_messages`.
        tokens, counted = self._measured if self._measured[1] else (1, 1)
        room = self.budget._replace(limit=self.budget.room * counted // tokens, reserve=0)
        window = await trim_with_summary([*messages], room, summarize, self._count)
        if window.fallback or "summarized" not in window.reasons:
            return Compaction((), window.fallback)
        if messages is not self._messages:
            return Compaction((), "changed")
        told = next(message for message in window.messages if message.summary)
        return Compaction(self._remove_left_out(window, told))

    def pin(self, id: int, pinned: bool = True) -> None:
        """Pin or unpin a message for `keep_important`. `id` as returned by `add`.

        Raises ValueError if the conversation has no message with this id.
        """
        if id not in self._ids:
            raise ValueError(f"The conversation has no message with the id {id!r} from `add`.")
        at = self._ids.index(id)
        message = self._messages[at]
        self._messages[at] = message._replace(pinned=pinned)
        is_first = at < extent_of_prompt(self._messages)[1]
        if is_first or message.role == "system" or message.pinned == pinned:
            return
        if pinned:
            insort(self._positions.pinned, at)
        else:
            self._positions.pinned.remove(at)

    def clear(self) -> None:
        """Remove all messages but the system prompt, and the correction of `calibrate`."""
        prompts = self._messages[: extent_of_prompt(self._messages)[0]]
        ids = self._ids
        self._measured = (0, 0)
        self._reset()
        for message, number in zip(prompts, ids, strict=False):
            self._append(message, number, self._count(message))

    def state(self) -> State:
        """The current use of the budget."""
        window = self._window()
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
        return self._count.priming + self._costs.used

    def _append(self, message: Message, id: int, cost: int) -> None:
        at = len(self._messages)
        self._messages.append(message)
        if at == self._first_turn:
            self._first_turn = extent_of_prompt(self._messages)[1]
        self._costs.add(message, cost)
        self._ids.append(id)
        self._roles["summary" if message.summary else message.role] += 1
        if at < self._first_turn:
            return
        if message.role == "system":
            self._positions.systems.append(at)
        else:
            if message.role == "user" and not message.summary:
                self._positions.turns.append(at)
            if message.pinned:
                self._positions.pinned.append(at)

    def _reset(self) -> None:
        self._messages: list[Message] = []
        self._costs = RunningCosts()
        self._ids = array("I")
        self._roles: Counter[str] = Counter()
        self._positions = _Positions(array("I"), [], [])
        self._first_turn = 0
        self._kept_from = self._counted = 0

    def _remove_left_out(
        self, window: Window, summary_message: Message | None = None
    ) -> tuple[Removed, ...]:
        """Remove the messages that the window leaves out; insert their summary if there is one."""
        old, costs, ids = self._messages, self._costs, self._ids
        systems = extent_of_prompt(old)[0]
        summary_id = None if summary_message is None else next(self._new_ids)
        reasons = {at: run.reason for run in window.left_out for at in range(run.start, run.stop)}
        self._reset()
        for at, message in enumerate(old):
            if summary_message is not None and summary_id is not None and at == systems:
                self._append(summary_message, summary_id, self._count(summary_message))
            if at not in reasons:
                self._append(message, ids[at], costs[at])
        return tuple(
            Removed(ids[at], costs[at], reason, summary_id if reason == "summarized" else None)
            for at, reason in reasons.items()
        )
