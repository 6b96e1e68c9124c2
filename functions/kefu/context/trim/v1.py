"""The strategy of version 1 of the chat endpoint: drops whole turns, oldest first."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation
from kefu.context.trim.recent import stable_start, window_with
from kefu.context.window import Window


def v1(conversation: Conversation, budget: Budget) -> Window:
    """Trims a conversation that exceeds the room until it is below the room.

    A turn is a user message and all messages up to the next one. Messages before the first turn (a
    greeting) are dropped together with that turn. System messages and the last turn are always kept
    whole, even if they exceed the room. `truncate_v1` applies this rule to characters. With a
    `trim_step`, up to that fraction of the room more is dropped, so that successive prompts start
    with the same messages.
    """
    end = len(conversation.messages)
    last = conversation.current if conversation.current >= 0 else conversation.first_turn
    older_systems = [(at, at + 1) for at in conversation.later_systems() if at < last]
    spans = (0, conversation.first_turn), (last, end), *older_systems
    fixed = conversation.priming + sum(conversation.cost(*span) for span in spans)
    room = budget.room - fixed
    start, cost = conversation.turns_back(conversation.first_turn, last, room, older_systems)
    if start > conversation.first_turn or cost > room:
        start, _ = conversation.turns_back(conversation.first_turn, last, room - 1, older_systems)
        if budget.trim_step:
            start = stable_start(conversation, budget, start, last, room - 1, older_systems)
        start = _drop_lone_greeting(conversation, start, last)
        _, cost = conversation.turns_back(start, last, room, older_systems)
    systems = [span for span in older_systems if span[0] < start]
    kept = [(0, conversation.first_turn), (start, end), *systems]
    return window_with(conversation, budget, kept, fixed + cost, start)


def _drop_lone_greeting(conversation: Conversation, start: int, last: int) -> int:
    """The start of the next turn if only a greeting would be dropped, else `start`."""
    if start == last or conversation.turns(conversation.first_turn, start):
        return start
    return conversation.turns(start + 1, last + 1)[0]
