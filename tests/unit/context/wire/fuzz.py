"""Trims one random conversation in one random way."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from kefu.context import BYTES4, TrimState, trim_messages
from tests.unit.context.wire.formats import FORMATS, conversation, least_tokens, problem
from tests.unit.context.wire.other_formats import OTHER_FORMATS

ALL_FORMATS = {**FORMATS, **OTHER_FORMATS}

STRATEGIES = (
    "fifo",
    "sliding_window",
    "keep_important",
    "v1",
    "agent",
    "summary",
    "agent_summary",
)


def trimmed_wrongly(name: str, seed: int) -> str:
    """The error in the trimmed conversation of this number; empty if there is none."""
    api, dice = ALL_FORMATS[name], Random(seed)
    whole = conversation(api.writer, dice)
    before = copy.deepcopy(whole)
    strategy = dice.choice(STRATEGIES)
    wanted = {id(message) for message in whole if dice.random() < 0.15}

    def trim(messages: list[Any], state: TrimState | None) -> Any:
        return trim_messages(
            messages,
            strategy=strategy,
            counter=BYTES4,
            max_tokens=room,
            reserve=0,
            trim_step=step,
            keep=(lambda m: id(m) in wanted) if keeps else None,
            state=state,
            alternate=name == "bedrock",
        )

    room, step, keeps = dice.randrange(1, 400), dice.choice((0, 0.3)), dice.random() < 0.5
    edits = strategy in ("agent", "summary", "agent_summary") or name == "bedrock"
    first = trim(whole, None)
    wrong = problem(api, first, whole, edits=edits)
    state = first.state
    if first.to_summarize:
        state = first.to_summarize.with_summary("They asked for a refund.", state)
    second = trim(whole, TrimState.load(state.dump()))
    wrong = wrong or problem(api, second, whole, edits=edits)
    if whole != before:
        return "a message was changed"
    if not wrong and sum(map(least_tokens, second)) > second.tokens:
        return "texts that are not counted"
    if not wrong and second.over_budget != (second.tokens > second.limit):
        return "over_budget is not the truth"
    return f"{strategy}: {wrong}" if wrong else ""
