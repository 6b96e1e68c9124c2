"""The token cost of one message, for any counter of texts."""

from __future__ import annotations

import sys
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Self

from kefu.context.tokens import (
    Counter,
    counter,
    estimate_calibrated,
    estimate_message_tokens,
    utf16_length,
)
from kefu.errors import TiktokenMissing
from kefu.messages import Message

_MANY_TEXTS = 16
"""Texts of a message. Beyond them, equal texts are counted once: names of tools repeat."""
_LONG_TEXT_CHARS = 1_000_000
"""Characters. A longer text is measured by samples if it cannot fit into the room."""
LONGEST_TOKEN = 128
"""Characters: the longest token of OpenAI's encodings is a run of spaces."""
_SAMPLE_COUNT, _SAMPLE_CHARS = 64, 1024


class MessageCounter:
    """Counts a message: its content, and the name and arguments of each of its tool calls.

    The reasoning before these calls counts too, because it is sent with them.
    `count` counts one text; each of these texts is counted on its own and the counts are added.
    """

    __slots__ = ("count", "longest", "per_message", "priming", "room", "safety", "samples")

    def __init__(
        self,
        count: Callable[[str], int],
        per_message: int = 0,
        priming: int = 0,
        safety: float = 1.0,
        *,
        samples: bool = False,
    ) -> None:
        self.count = count
        self.per_message = per_message
        """Tokens that the chat format adds per message: `PER_MESSAGE` for OpenAI's, else 0."""
        self.priming = priming
        """Tokens that the chat format adds once per prompt: 3 for OpenAI's models, else 0.

        Estimates use 0: their error is larger than the format's tokens."""
        self.safety = safety
        """The room of a budget is divided by it, so that an estimate that is too low still fits."""
        self.samples = samples
        """Whether `within` applies: the tokens of a text are about the sum of its parts' tokens.

        The value is true for the counters that have a name."""
        self.longest = sys.maxsize
        """The characters of the longest text that is counted as a whole."""
        self.room = 0
        """The tokens that a longer text exceeds for certain."""

    def within(self, room: int) -> Self:
        """This counter for a prompt of `room` tokens: in it, no long text takes long.

        A text of more than a million characters that has more than 128 for each token of the room
        cannot fit. Its count is from samples, and at least one token more than the room.
        """
        if not self.samples:
            return self
        counter = type(self)(self.count, self.per_message, self.priming, self.safety, samples=True)
        counter.longest, counter.room = max(_LONG_TEXT_CHARS, LONGEST_TOKEN * room), room
        return counter

    def of_text(self, text: str) -> int:
        """The tokens of one text."""
        if len(text) <= self.longest:
            return self.count(text)
        starts = range(0, len(text) - _SAMPLE_CHARS, len(text) // _SAMPLE_COUNT)
        counted = sum(self.count(text[at : at + _SAMPLE_CHARS]) for at in starts)
        return max(self.room + 1, counted * len(text) // (_SAMPLE_CHARS * len(starts)))

    def __call__(self, message: Message) -> int:
        content, calls = message.content, message.tool_calls
        count = self.count if len(content) <= self.longest else self.of_text
        tokens = self.per_message + count(content)
        if not calls:
            return tokens
        texts = [text for _, name, arguments in calls for text in (name, arguments)]
        texts += [text for _, text in message.reasoning]
        if len(texts) < _MANY_TEXTS:
            return tokens + sum(map(self.of_text, texts))
        return tokens + sum([self.of_text(text) * n for text, n in Tally(texts).items()])


def json_of(value: Any) -> str:
    """A value as compact JSON; a text as it is.

    Of a value that JSON cannot hold, such as one that is nested too deep, only the texts.
    """
    if isinstance(value, str):
        return value
    try:
        return _encoder()(value)
    except (RecursionError, TypeError, ValueError):
        return "".join(_leaves(value))


@cache
def _encoder() -> Callable[[Any], str]:
    from json import JSONEncoder  # imported here because it slows the import of the library

    return JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def _leaves(value: Any) -> Iterator[str]:
    """The keys and texts of nested dicts and lists, each of which is read once."""
    waiting, seen = [value], set[int]()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict | list | tuple):
            yield f"{part},"
        elif id(part) not in seen:
            seen.add(id(part))
            yield "{}"
            waiting += [*part, *part.values()] if isinstance(part, dict) else part


AnyCounter = str | MessageCounter | Callable[[str], int]
"""A counter wherever one is taken: a name of `message_counter`, a message counter, or a function
from a text to its number of tokens."""

PER_MESSAGE, PRIMING = 4, 3
"""Tokens that OpenAI's chat format adds to a message (three, and its role) and to a prompt.

A name takes one token more than its text. Source: OpenAI's cookbook, "How to count tokens"."""

SAFETY_FACTOR = 1.3
"""The factor by which `counter_for` raises its estimates. Without this factor, texts in some
languages would have up to a fifth more tokens than estimated."""


def message_counter(counter_or_name: AnyCounter, *, overhead: bool | None = None) -> MessageCounter:
    """The message counter for a name, or for a function that counts one text.

    Names: `bytes4`, `chars4`, `cjk_v1`, `calibrated`, `calibrated_cl100k`, `calibrated_claude`, and
    `tiktoken:` with an encoding or a model. With `overhead`, the chat format's tokens are
    added: 4 per message, 1 per name, 3 per prompt. `overhead=None`: only exact counts get the
    format's tokens. Raises UnknownCounter or TiktokenMissing, and TypeError for anything else.

    Example: `message_counter("tiktoken:gpt-4o")(Message("user", "Hello")) == 5`.
    """
    if isinstance(counter_or_name, MessageCounter):
        return counter_or_name
    text = counter(counter_or_name) if isinstance(counter_or_name, str) else counter_or_name
    if not callable(text):
        raise TypeError(
            f"{text!r} is no counter. Pass a name such as 'calibrated' or 'tiktoken:gpt-4o', a"
            " MessageCounter, or a function from a text to its number of tokens."
        )
    exact = isinstance(text, Counter) and text.name.startswith("tiktoken:")
    added = (PER_MESSAGE, PRIMING) if (exact if overhead is None else overhead) else (0, 0)
    if isinstance(text, Counter):
        return MessageCounter(text.count, *added, samples=True)
    return MessageCounter(text, *added)


def counter_for(model: str, *, exact: bool = False) -> MessageCounter:
    """Return the counter for a model: an estimate with a safety factor, or, if `exact`, a count.

    Exact counts need a public tokenizer (OpenAI's models) and tiktoken; otherwise this returns the
    estimate. Estimates follow the model's tokenizer: o200k, cl100k or Claude's. Other models,
    LongCat's among them, are estimated like o200k.

    Example: `counter_for("gpt-4").count("你好") == 3`.
    """
    family = tokenizer_family(model)
    if exact and family in ("o200k", "cl100k"):
        try:
            return message_counter(f"tiktoken:{family}_base")
        except TiktokenMissing:
            pass
    estimate = counter(estimate_of(model)).count
    return MessageCounter(estimate, PER_MESSAGE, PRIMING, SAFETY_FACTOR, samples=True)


def estimate_of(model: str) -> str:
    """The name of the estimate for a model's tokenizer, such as `calibrated_cl100k` for GPT-4."""
    names = {"cl100k": "calibrated_cl100k", "claude": "calibrated_claude"}
    return names.get(tokenizer_family(model), "calibrated")


def tokenizer_family(model: str) -> str:
    """`o200k` or `cl100k` for OpenAI's models, `claude`, or `other`."""
    name = model.lower().rpartition("/")[2].removeprefix("ft:")
    if "claude" in name:
        return "claude"
    if name.startswith(("gpt-4o", "gpt-4.", "chatgpt-4o")):
        return "o200k"
    if name.startswith(("gpt-4", "gpt-3.5", "gpt-35")):
        return "cl100k"
    return "o200k" if name.startswith(("gpt-", "chatgpt", "o1", "o3", "o4", "codex")) else "other"


CALIBRATED = MessageCounter(estimate_calibrated, samples=True)
"""Estimated tokens of the o200k encoding: the default counter."""
BYTES4 = MessageCounter(estimate_message_tokens, samples=True)
"""Estimated tokens: one per 4 bytes of UTF-8."""
CHARACTERS = MessageCounter(utf16_length)
"""UTF-16 code units instead of tokens: the unit of `truncate_v1`."""
