"""The chat endpoint's own rule: whole turns, oldest first, until it is below the limit."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation, starts_turn
from kefu.context.window import Window, window_of


def v1(talk: Conversation, budget: Budget) -> Window:
    """Too long is what exceeds the room; a cut goes on until the rest is below it.

    A turn is a user message and everything up to the next one; what stands before the first turn,
    a greeting, goes first and with it. System messages and the last turn always stay whole, even
    if they are too long. `truncate_v1` has this rule in characters.
    """
    end = len(talk.messages)
    last = talk.current if talk.current >= 0 else talk.head
    older_systems = [(at, at + 1) for at in talk.later_systems() if at < last]
    fixed = talk.priming + talk.cost(0, talk.head) + talk.cost(last, end)
    fixed += sum(talk.cost(*span) for span in older_systems)
    room = budget.room - fixed
    start, cost = talk.turns_back(talk.head, last, room, older_systems)
    if start > talk.head or cost > room:
        start, _ = talk.turns_back(talk.head, last, room - 1, older_systems)
        start = _not_a_greeting_alone(talk, start, last)
        _, cost = talk.turns_back(start, last, room, older_systems)
    kept = sorted({(0, talk.head), (start, end), *(s for s in older_systems if s[0] < start)})
    holes = [hole for span in kept for hole in talk.holes(*span)]
    return window_of(talk.messages, kept, holes, fixed + cost, budget.room)


def _not_a_greeting_alone(talk: Conversation, start: int, last: int) -> int:
    """The next turn, if nothing but a greeting stands before this one."""
    if start == last or any(map(starts_turn, talk.messages[talk.head : start])):
        return start
    start += 1
    while not starts_turn(talk.messages[start]):
        start += 1
    return start
