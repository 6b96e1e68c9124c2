"""Trims a list of own messages, and awaits the summary of what no longer fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kefu.context.budget import Budget
from kefu.context.conversation import Conversation, CountedOnce, extent_of_prompt
from kefu.context.cost import CALIBRATED, MessageCounter
from kefu.context.stages import DropTurns, ReplaceBySummary
from kefu.context.state import TrimState
from kefu.context.summary import Summarize, summary_message, summary_text
from kefu.context.trim import own_messages, window_for
from kefu.context.trim.recent import room_after_fixed
from kefu.context.trimmed import Trimmed, trim_messages
from kefu.context.window import LeftOut, View, Window, joined
from kefu.messages import Message


async def trim_with_summary(
    messages: Sequence[Message] | Sequence[Mapping[str, object]],
    budget: Budget,
    summarize: Summarize,
    counter: MessageCounter = CALIBRATED,
    *,
    repeated: bool = False,
) -> Window:
    """Like `window_for`, but a summary replaces the dropped messages and the previous summary.

    Pinned messages stay, if they fit.

    The summary has at most a quarter of the room; a longer summary is cut. `trim_step` is the
    fraction of the room that is left free, so that not every request needs a new summary.

    `repeated`: the caller does not store the summary, and trims the growing conversation again for
    each request. The messages to summarize then stay the same for several requests.

    If no summary is made, `fifo` makes the window, whose `fallback` is the reason: `no room`,
    `empty`, or `failed:` and the name of the exception. Raises TypeError if `summarize` is no async
    function or returns no text.
    """
    messages = own_messages(messages)
    plain = window_for(messages, budget, "fifo", counter)
    if "budget" not in plain.reasons:
        return plain
    systems, first = extent_of_prompt(messages)
    previous = "\n".join(map(summary_text, messages[systems:first]))
    rest = [*messages[:systems], *messages[first:]]
    talk = Conversation(rest, CountedOnce(rest.__getitem__, counter), counter.priming)
    allowance = min(room_after_fixed(talk, budget), int(_SUMMARY_SHARE * budget.room))
    free = 0.0 if repeated else budget.trim_step
    stages = (
        ReplaceBySummary(min(1.0, _SUMMARY_SHARE + free), repeated),
        DropTurns("keep_important"),
    )
    room = Budget(budget.room, 0, budget.trim_step if repeated else 0.0)

    def trimmed(state: TrimState) -> Trimmed[Message]:
        return trim_messages(rest, room, stages, counter, state=state)

    due = trimmed(TrimState()).to_summarize
    if not due or not summary_message(".", allowance, counter):
        return plain._replace(fallback="no room")
    text, failure = await _written(summarize, due.messages, previous)
    told = summary_message(text, allowance, counter)
    if told is None:
        return plain._replace(fallback=failure or "empty")
    done = trimmed(due.with_summary(summary_text(told), TrimState()))
    return _window(done, messages, systems, first)


_SUMMARY_SHARE = 0.25
"""The most of the room that a summary may have."""


async def _written(
    summarize: Summarize, messages: Sequence[Message], previous: str
) -> tuple[str, str]:
    """The text of the summary, or "" and the reason why there is none. Raises TypeError."""
    try:
        made = summarize(messages, previous)
        text = await made if hasattr(made, "__await__") else made
    except Exception as failure:  # noqa: BLE001 -- the errors of any model's client
        return "", f"failed: {type(failure).__name__}"
    if not hasattr(made, "__await__") or not isinstance(text, str):
        raise TypeError(
            f"summarize must be an async function that returns a text, not {type(text).__name__}."
        )
    return text.strip(), ""


def _window(
    done: Trimmed[Message], messages: Sequence[Message], systems: int, first: int
) -> Window:
    """The window by positions in `messages`, of which the old summaries were taken out."""
    moved = first - systems
    runs = [
        LeftOut(run.start + moved, run.stop + moved, run.reason) if run.start >= systems else run
        for run in done.left_out
    ]
    if moved:
        runs.append(LeftOut(systems, first, "summarized"))
    left_out = joined(runs)
    return Window(
        tuple(done),
        View(messages, [(start, stop) for start, stop, _ in left_out]),
        done.tokens,
        done.limit,
        done.over_budget,
        tuple(left_out),
    )
