"""What every strategy does alike: it keeps what must be kept, and after that what is recent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation, Paid
from kefu.context.window import Span, Window, window_of

_MISSES = 100


def keep_recent(
    talk: Conversation,
    budget: Budget,
    *,
    always: Sequence[Span] = (),
    wanted: Iterable[Span] = (),
    floor: int = 0,
    summary: bool = True,
) -> Window:
    """The system prompt, the current user message, the tool calls at the end, and what fits.

    `always` stays with them. Of the rest first comes the summary, unless it is to be replaced; then
    the `wanted` exchanges, in the order given, until a hundred of them did not fit; then one
    unbroken run up to the end, not before `floor`: of the current turn by exchanges, of the older
    ones by turns.
    """
    fixed = [*_fixed(talk), *always]
    room = budget.room - talk.priming - sum(talk.cost(*span) for span in fixed)
    told = [(talk.systems, talk.head)] if summary and talk.systems < talk.head else []
    pins, cost = _pins(talk, chain(told, wanted), room)
    room -= cost
    pins += always
    recent, cost = _recent(talk, budget, room, sorted(pins), floor)
    kept = sorted({*fixed, *pins, *recent})
    holes = {hole for span in kept for hole in talk.holes(*span)}
    return window_of(talk.messages, kept, sorted(holes), budget.room - room + cost, budget.room)


def _pins(talk: Conversation, wanted: Iterable[Span], room: int) -> tuple[list[Span], int]:
    """Those that fit, and what they cost. Misses are limited: each of them has to be counted."""
    pins, spent, misses = [], 0, 0
    for span in wanted:
        cost = talk.cost(*span)
        if span[0] < span[1] and cost <= room - spent:
            spent += cost
            pins.append(span)
        elif (misses := misses + 1) == _MISSES:
            break
    return pins, spent


def room_beside_fixed(talk: Conversation, budget: Budget) -> int:
    """What is left for all that may be left out; below 0 where the rest is too much already."""
    return budget.room - talk.priming - sum(talk.cost(*span) for span in _fixed(talk))


def _fixed(talk: Conversation) -> list[Span]:
    spans = [(0, talk.systems), (talk.tail, len(talk.messages))]
    if talk.current >= 0:
        spans.append((talk.current, talk.current + 1))
    return spans


def _recent(
    talk: Conversation, budget: Budget, room: int, paid: Paid, floor: int
) -> tuple[list[Span], int]:
    """Up to two spans around the current user message, and what they cost."""
    begin = max(talk.current + 1, talk.head)
    start, cost = talk.exchanges_back(max(begin, floor), talk.tail, room, paid)
    newest = [(start, talk.tail)]
    if start > begin or talk.current < 0:
        return newest, cost
    older, more = talk.turns_back(max(talk.head, floor), talk.current, room - cost, paid)
    if older > talk.head and budget.cut_step:
        older = max(older, _in_steps(talk, budget, room - cost, paid))
        more = talk.turns_back(older, talk.current, room - cost, paid)[1]
    return [(older, talk.current), *newest], cost + more


def _in_steps(talk: Conversation, budget: Budget, room: int, paid: Paid) -> int:
    """Where the cut is if what goes, counted from the oldest, is rounded up to whole steps.

    As the conversation grows, that stays the same until it has grown by a step.
    """
    step = max(1, int(budget.cut_step * budget.room))
    older = talk.cost(talk.head, talk.current) - sum(
        talk.cost(*span) for span in paid if talk.head <= span[0] < talk.current
    )
    excess = older - room
    return talk.turn_after(-(-excess // step) * step, paid) if excess > 0 else talk.head
