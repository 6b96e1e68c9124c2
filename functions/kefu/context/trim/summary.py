"""A strategy that replaces dropped messages by a model's summary, after the system prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation
from kefu.context.trim.recent import keep_recent, room_after_fixed
from kefu.context.window import LeftOut, View, Window
from kefu.messages import Message

_OPEN, _CLOSE = "<conversation_summary>\n", "\n</conversation_summary>"


class Summarize(Protocol):
    """A function of the caller that has a model write a summary."""

    async def __call__(self, messages: Sequence[Message], previous: str) -> str:
        """Returns one summary of the `previous` summary and of `messages`, oldest first.

        `previous` is empty the first time. If `summarize` fails or returns "", no summary is made;
        the next trimming tries again.
        """


async def summary(
    conversation: Conversation,
    budget: Budget,
    summarize: Summarize,
    count: Callable[[Message], int],
    *,
    repeated: bool = False,
) -> Window:
    """Like `fifo`, but a summary replaces the dropped messages and the previous summary.

    The summary has at most a quarter of the room; a longer summary is cut. `trim_step` is the
    fraction of the room that is left free, so that not every request needs a new summary.

    `repeated`: the caller does not store the summary, and trims the growing conversation again for
    each request. The messages to summarize then stay the same for several requests.

    If no summary is made, `fifo` makes the window, whose `fallback` is the reason: `no room`,
    `empty`, or `failed:` and the name of the exception. Raises TypeError if `summarize` is no async
    function or returns no text.
    """
    plain = keep_recent(conversation, budget)
    if "budget" not in plain.reasons:
        return plain
    allowance = min(room_after_fixed(conversation, budget), budget.room // 4)
    if count(_message("")) >= allowance:
        return plain._replace(fallback="no room")
    remaining = _beside_summary(conversation, budget, allowance, repeated=repeated)
    text, failure = await _written(summarize, conversation, remaining)
    message = summary_message(text.strip(), allowance, count)
    if message is None:
        return plain._replace(fallback=failure or "empty")
    return _with_summary(message, conversation, remaining, budget, count)


def _beside_summary(
    conversation: Conversation, budget: Budget, allowance: int, *, repeated: bool
) -> Window:
    """The messages to send beside a summary of `allowance` tokens; it replaces the others."""
    step = budget.trim_step
    free = 0 if repeated else int(step * budget.room)
    smaller = Budget(budget.room - allowance - free, 0, step if repeated else 0.0)
    return keep_recent(conversation, smaller, summary=False)


async def _written(
    summarize: Summarize, conversation: Conversation, remaining: Window
) -> tuple[str, str]:
    """The text of the summary, or "" and the reason why there is none.

    Raises TypeError if `summarize` is no async function or returns no text.
    """
    head = conversation.head
    spans = [
        (max(run.start, head), run.stop)
        for run in remaining.left_out
        if run.reason == "budget" and run.stop > head
    ]
    previous = "\n".join(map(summary_text, conversation.messages[conversation.systems : head]))
    try:
        made = summarize(View(conversation.messages, spans), previous)
        text = await made if _is_awaitable(made) else made
    except Exception as failure:  # noqa: BLE001 -- the errors of any model's client
        return "", f"failed: {type(failure).__name__}"
    if not _is_awaitable(made) or not isinstance(text, str):
        raise TypeError(
            f"summarize must be an async function that returns a text, not {type(text).__name__}."
        )
    return text, ""


def _is_awaitable(value: object) -> bool:
    return hasattr(value, "__await__")  # importing `inspect` would slow the import


def summary_text(message: Message) -> str:
    """The text of a summary message, without the tags around it."""
    return message.content.removeprefix(_OPEN).removesuffix(_CLOSE)


def _message(text: str) -> Message:
    # The role is not `system`: a summary repeats users' words, and they must not gain authority.
    return Message("user", f"{_OPEN}{_without_end_tag(text)}{_CLOSE}", summary=True)


def _without_end_tag(text: str) -> str:
    """The text with each end tag of the summary made invalid, so that none ends it early."""
    if "<" not in text:
        return text
    import re  # imported here because it is rarely needed and slows the import of the library

    return re.sub(r"(?i)<(?=\s*/\s*conversation_summary)", "<\u200b", text)


def summary_message(text: str, allowance: int, count: Callable[[Message], int]) -> Message | None:
    """The summary message, cut at the end to fit the allowance; None if nothing fits."""
    while text:
        message = _message(text)
        cost = count(message)
        if cost <= allowance:
            return message
        text = text[: min(len(text) - 1, len(text) * allowance // cost)].rstrip()
    return None


def _with_summary(
    message: Message,
    conversation: Conversation,
    remaining: Window,
    budget: Budget,
    count: Callable[[Message], int],
) -> Window:
    tokens = remaining.tokens + count(message)
    return Window(
        messages=(
            *remaining.messages[: conversation.systems],
            message,
            *remaining.messages[conversation.systems :],
        ),
        dropped=remaining.dropped,
        tokens=tokens,
        limit=budget.room,
        over_budget=tokens > budget.room,
        left_out=tuple(
            LeftOut(run.start, run.stop, "summarized") if run.reason == "budget" else run
            for run in remaining.left_out
        ),
    )
