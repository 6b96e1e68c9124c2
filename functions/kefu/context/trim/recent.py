"""The common part of the strategies: keeps the required messages, then the most recent ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation, Paid
from kefu.context.window import Span, Window, window_of

_MAX_MISSES = 100


def keep_recent(
    conversation: Conversation,
    budget: Budget,
    *,
    always: Sequence[Span] = (),
    wanted: Iterable[Span] = (),
    floor: int = 0,
    summary: bool = True,
) -> Window:
    """Fills the budget in this order, and drops the remaining messages:

    1. The system prompt, the current user message, the tool calls at the end, and `always`. They
       are kept even if they exceed the budget.
    2. The existing summary, if `summary` is true.
    3. The `wanted` exchanges that fit, in the given order. The search stops after 100 that do not
       fit.
    4. A contiguous run up to the end that starts at `floor` at the earliest: exchanges of the
       current turn, then older turns.
    """
    fixed = [*_fixed(conversation), *always]
    room = budget.room - conversation.priming - sum(conversation.costs(fixed))
    old_summary = (
        [(conversation.systems, conversation.head)]
        if summary and conversation.systems < conversation.head
        else []
    )
    pins, cost = _pins(conversation, chain(old_summary, wanted), room)
    room -= cost
    paid = sorted([*always, *pins])
    recent, cost = _recent(conversation, budget, room, paid, floor)
    kept = sorted([*fixed, *pins, *recent])
    holes = _holes(conversation, kept)
    tokens = budget.room - room + cost
    # The first of two spans has the older turns; with only one span, no older turn is kept.
    older = recent[0][0] if len(recent) > 1 else max(conversation.current, 0)
    return window_of(
        conversation.messages,
        kept,
        holes,
        tokens,
        budget.room,
        older if older > conversation.head else 0,
    )


def _holes(conversation: Conversation, kept: Sequence[Span]) -> Sequence[Span]:
    """The holes in these spans, in order; most conversations have none."""
    if not conversation.holes(0, len(conversation.messages)):
        return ()
    return sorted({hole for span in kept for hole in conversation.holes(*span)})


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
    return budget.room - conversation.priming - sum(conversation.costs(_fixed(conversation)))


def _fixed(conversation: Conversation) -> list[Span]:
    spans = [(0, conversation.systems), (conversation.tail, len(conversation.messages))]
    if conversation.current >= 0:
        spans.append((conversation.current, conversation.current + 1))
    return spans


def _recent(
    conversation: Conversation, budget: Budget, room: int, paid: Paid, floor: int
) -> tuple[list[Span], int]:
    """Returns up to two spans, before and after the current user message, and their cost."""
    begin = max(conversation.current + 1, conversation.head)
    start, cost = conversation.exchanges_back(max(begin, floor), conversation.tail, room, paid)
    newest = [(start, conversation.tail)]
    if start > begin or conversation.current < 0:
        return newest, cost
    older, more = conversation.turns_back(
        max(conversation.head, floor), conversation.current, room - cost, paid
    )
    if older > conversation.head and budget.trim_step:
        older = stable_start(conversation, budget, older, conversation.current, room - cost, paid)
        more = conversation.turns_back(older, conversation.current, room - cost, paid)[1]
    return [(older, conversation.current), *newest], cost + more


def stable_start(
    conversation: Conversation, budget: Budget, least: int, stop: int, room: int, paid: Paid
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
    most = conversation.turns_back(least, stop, lower, paid)[0]
    if previous:
        return most
    starts = [at for at in (*conversation.turns(least, most), most) if at > conversation.head]
    return max(starts, key=lambda at: (_power_of_two(at - conversation.head), -at), default=most)


def _power_of_two(number: int) -> int:
    """The largest power of two that divides a number above 0."""
    return number & -number
