"""The strategies that keep the newest turns, and `keep_recent`, which they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation
from kefu.context.window import Span, Window, window_of

_MAX_MISSES = 100


def fifo(conversation: Conversation, budget: Budget) -> Window:
    """Drops the oldest turns first; of the current turn, the oldest exchanges."""
    return keep_recent(conversation, budget)


def sliding_window(conversation: Conversation, budget: Budget) -> Window:
    """Keeps at most N messages in whole turns, so there may be fewer than N.

    Without `max_messages` it equals `fifo`. With a `trim_step`, the start of the window moves in
    steps of that fraction of N.
    """
    floor = 0
    if budget.max_messages:
        step = max(1, int(budget.trim_step * budget.max_messages))
        excess = len(conversation.messages) - conversation.first_turn - budget.max_messages
        floor = conversation.first_turn + max(0, -(-excess // step) * step)
    return keep_recent(conversation, budget, floor=floor)


def keep_important(conversation: Conversation, budget: Budget) -> Window:
    """Keeps the pinned messages that fit, newest first, then the newest turns.

    A pinned tool call or result is kept with its whole exchange. System messages after the system
    prompt are always kept, even if they exceed the budget.
    """
    tail, asked = conversation.open_calls, conversation.asked
    systems = [(at, at + 1) for at in conversation.later_systems() if at < tail]
    pins = (span for span in conversation.pinned_exchanges(tail) if span not in asked)
    return keep_recent(conversation, budget, always=systems, wanted=pins)


def keep_recent(
    conversation: Conversation,
    budget: Budget,
    *,
    always: Sequence[Span] = (),
    wanted: Iterable[Span] = (),
    floor: int = 0,
) -> Window:
    """Fills the budget in this order, and drops the remaining messages:

    1. The system prompt, the current user message, what the user said later beside tool results,
       the tool calls at the end, and `always`. They are kept even if they exceed the budget.
    2. The existing summary.
    3. The `wanted` exchanges that fit, in the given order. The search stops after 100 that do not
       fit.
    4. A contiguous run up to the end that starts at `floor` at the earliest: exchanges of the
       current turn, then older turns.
    """
    fixed = [*_fixed(conversation), *always]
    room = room_after_fixed(conversation, budget)
    room -= sum(conversation.cost(*span) for span in always)
    pins, cost = _pins(conversation, chain(_summaries(conversation), wanted), room)
    room -= cost
    free = sorted([*conversation.asked, *always, *pins])
    recent, cost = _recent(conversation, budget, room, free, floor)
    tokens = budget.room - room + cost
    # The first of two spans has the older turns; with only one span, no older turn is kept.
    start = recent[0][0]
    if len(recent) == 1 and not conversation.first_turn < conversation.current + 1 < start:
        start = conversation.current
    return window_with(conversation, budget, [*fixed, *pins, *recent], tokens, start)


def window_with(
    conversation: Conversation, budget: Budget, kept: Iterable[Span], tokens: int, start: int
) -> Window:
    """The window with these spans, without the holes in them; `start`: of the kept turns."""
    kept = sorted(kept)
    spans = kept if conversation.holes(0, len(conversation.messages)) else ()
    holes = sorted({hole for span in spans for hole in conversation.holes(*span)})
    kept_from = start if start > conversation.first_turn else 0
    return window_of(conversation.messages, kept, holes, tokens, budget.room, kept_from)


def _pins(conversation: Conversation, wanted: Iterable[Span], room: int) -> tuple[list[Span], int]:
    """Returns the wanted exchanges that fit, and their cost.

    The number of exchanges that do not fit is limited, because each of them must be counted.
    """
    pins, spent, misses = [], 0, 0
    cost_of = conversation.cost
    for start, stop in wanted:
        cost = cost_of(start, stop)
        if start < stop and cost <= room - spent:
            spent += cost
            pins.append((start, stop))
        elif (misses := misses + 1) == _MAX_MISSES:
            break
    return pins, spent


def room_after_fixed(conversation: Conversation, budget: Budget) -> int:
    """The room left after the messages that are always kept; negative if they do not fit."""
    fixed = sum(conversation.cost(*span) for span in _fixed(conversation))
    return budget.room - conversation.priming - fixed


def _fixed(conversation: Conversation) -> list[Span]:
    tail = conversation.open_calls, len(conversation.messages)
    return [(0, conversation.systems), *conversation.asked, tail]


def _summaries(conversation: Conversation) -> Iterator[Span]:
    """The summary after the system prompt, or after the question that is being worked on."""
    if conversation.systems < conversation.first_turn:
        yield conversation.systems, conversation.first_turn
    if (at := conversation.summary_at) > conversation.first_turn:
        yield at, at + 1


def _recent(
    conversation: Conversation, budget: Budget, room: int, kept: Sequence[Span], floor: int
) -> tuple[list[Span], int]:
    """Returns up to two spans, before and after the current user message, and their cost."""
    begin = max(conversation.current + 1, conversation.first_turn)
    end = conversation.open_calls
    start, cost = conversation.exchanges_back(max(begin, floor), end, room, kept)
    if start > begin or conversation.current < 0:
        if start > begin and budget.trim_step:
            start = _stable_exchange(conversation, budget, start, room, kept)
            cost = conversation.exchanges_back(start, end, room, kept)[1]
        return [(start, end)], cost
    older, more = conversation.turns_back(
        max(conversation.first_turn, floor), conversation.current, room - cost, kept
    )
    if older > conversation.first_turn and budget.trim_step:
        older = stable_start(conversation, budget, older, conversation.current, room - cost, kept)
        more = conversation.turns_back(older, conversation.current, room - cost, kept)[1]
    return [(older, conversation.current), (start, end)], cost + more


def stable_start(
    conversation: Conversation,
    budget: Budget,
    least: int,
    stop: int,
    room: int,
    kept: Sequence[Span],
) -> int:
    """The start of the kept turns that successive requests have in common.

    `least` is the earliest start that fits the budget. The start of the previous prompt
    is used again while it is not before `least`. Without such a start, at most `trim_step` more is
    dropped. If the previous prompt is unknown, the turn is chosen whose position is divisible by
    the largest power of two: most requests of a growing conversation then choose the same.
    """
    previous = conversation.kept_from
    is_start = previous == stop or bool(conversation.turns(previous, previous + 1))
    if least <= previous <= stop and is_start:
        return previous
    lower = room - int(budget.trim_step * budget.room)
    most = conversation.turns_back(least, stop, lower, kept)[0]
    if previous:
        return most
    first = conversation.first_turn
    starts = [at for at in (*conversation.turns(least, most), most) if at > first]
    return max(starts, key=lambda at: (_power_of_two(at - first), -at), default=most)


def _stable_exchange(
    conversation: Conversation, budget: Budget, least: int, room: int, kept: Sequence[Span]
) -> int:
    """Like `stable_start`, for the exchanges after the question that is being worked on."""
    previous, end = conversation.kept_from, conversation.open_calls
    if least <= previous < end and conversation.exchange(previous)[0] == previous:
        return previous
    lower = room - int(budget.trim_step * budget.room)
    most = conversation.exchanges_back(least, end, lower, kept)[0]
    if most == end:  # not even the newest exchange has only the rest of the room
        return least
    if previous > conversation.current:
        return most
    starts = [most]
    at = most
    while at > least:
        start, stop = conversation.exchange(at - 1)
        at = min(start, at - 1)
        if start < stop:  # no hole
            starts.append(at)
    first = conversation.current
    return max(starts, key=lambda at: (_power_of_two(at - first), -at))


def _power_of_two(number: int) -> int:
    """The largest power of two that divides a number above 0."""
    return number & -number
