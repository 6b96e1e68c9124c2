"""What goes is not lost: a model tells it again in short, in one message behind the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation
from kefu.context.trim.recent import keep_recent, room_beside_fixed
from kefu.context.window import LeftOut, View, Window
from kefu.lean_typing import Protocol
from kefu.messages import Message

_OPEN, _CLOSE = "<conversation_summary>\n", "\n</conversation_summary>"


class Summarize(Protocol):
    async def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """What is worth knowing of `messages`, oldest first, and of the `previous` summary.

        `previous` is empty the first time. What it raises, and an empty answer, mean that there
        is no summary now; the next window asks again.
        """


async def summary(
    talk: Conversation, budget: Budget, summarize: Summarize, count: Callable[[Message], int]
) -> Window:
    """`fifo`, but what it would drop is summarised, together with the summary before it.

    The summary takes a quarter of the room at most; a longer one is cut. `cut_step` leaves that
    much room free, so that not every request asks for a summary. Without a summary, for
    whatever reason, the window is that of `fifo` and its `fallback` says why.
    """
    plain = keep_recent(talk, budget)
    if "budget" not in plain.reasons:
        return plain
    allowance = min(room_beside_fixed(talk, budget), budget.room // 4)
    if count(_message("")) >= allowance:
        return plain._replace(fallback="no room")
    free = int(budget.cut_step * budget.room)
    rest = keep_recent(talk, Budget(budget.room - allowance - free, reserve=0), summary=False)
    going = [run for run in rest.left_out if run.reason == "budget" and run.stop > talk.head]
    spans = [(max(start, talk.head), stop) for start, stop, _ in going]
    previous = "\n".join(summary_text(m) for m in talk.messages[talk.systems : talk.head])
    try:
        text = (await summarize(View(talk.messages, spans), previous)).strip()
    except Exception as failure:  # noqa: BLE001 -- the errors of any model's client
        return plain._replace(fallback=f"failed: {type(failure).__name__}")
    message = _longest(text, allowance, count)
    return (
        _with(message, talk, rest, budget, count) if message else plain._replace(fallback="empty")
    )


def summary_text(message: Message) -> str:
    """What the model wrote, without the tags around it."""
    return message.content.removeprefix(_OPEN).removesuffix(_CLOSE)


def _message(text: str) -> Message:
    # Not a system message: it retells what users said, and must not gain authority by that.
    return Message("user", f"{_OPEN}{_without_end(text)}{_CLOSE}", summary=True)


def _without_end(text: str) -> str:
    """Nothing in it ends the block early."""
    if "<" not in text:
        return text
    import re  # rarely needed, and the library is imported without it

    return re.sub(r"(?i)<(?=\s*/\s*conversation_summary)", "<\u200b", text)


def _longest(text: str, allowance: int, count: Callable[[Message], int]) -> Message | None:
    """The whole summary if it fits, else as much of its beginning as does."""
    while text:
        message = _message(text)
        cost = count(message)
        if cost <= allowance:
            return message
        text = text[: min(len(text) - 1, len(text) * allowance // cost)].rstrip()
    return None


def _with(
    message: Message,
    talk: Conversation,
    rest: Window,
    budget: Budget,
    count: Callable[[Message], int],
) -> Window:
    tokens = rest.tokens + count(message)
    return Window(
        messages=(*rest.messages[: talk.systems], message, *rest.messages[talk.systems :]),
        dropped=rest.dropped,
        tokens=tokens,
        limit=budget.room,
        over_budget=tokens > budget.room,
        left_out=tuple(
            LeftOut(run.start, run.stop, "summarized") if run.reason == "budget" else run
            for run in rest.left_out
        ),
    )
