"""Token counters by name: cheap estimates, and exact counts if tiktoken is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kefu.context.tokens.calibrated import CL100K, CLAUDE, estimate, estimate_calibrated
from kefu.context.tokens.lengths import estimate_chars4, estimate_message_tokens, estimate_tokens_v1
from kefu.errors import UnknownCounter

COUNTERS: dict[str, Callable[[str], int]] = {
    "bytes4": estimate_message_tokens,
    "calibrated": estimate_calibrated,
    "calibrated_cl100k": partial(estimate, CL100K),
    "calibrated_claude": partial(estimate, CLAUDE),
    "chars4": estimate_chars4,
    "cjk_v1": estimate_tokens_v1,
}
"""The estimates by name.

Every counter returns 0 for the empty text, else at least 1. A counter takes linear time, and never
raises."""

_EXACT = "tiktoken:"


class Counter:
    """Counts the tokens of a text. `counter(text)` and `counter.count(text)` are the same."""

    __slots__ = ("approximate", "count", "name")

    def __init__(self, name: str, *, approximate: bool, count: Callable[[str], int]) -> None:
        self.name = name
        """The requested name; for an exact counter `tiktoken:` and the encoding that it uses."""
        self.approximate = approximate
        """False only if the model's own tokenizer is used."""
        self.count = count
        """The function from a text to its number of tokens."""

    def __call__(self, text: str) -> int:
        return self.count(text)


def counter(name: str) -> Counter:
    """The counter for a key of `COUNTERS`, or for `tiktoken:` and an encoding or a model.

    For a model with an unknown tokenizer, o200k_base is used and `approximate` is True. The tables
    of an encoding are loaded by the first count.

    Raises `UnknownCounter`, a ValueError, for any other name. Raises `TiktokenMissing`, an
    ImportError, for an exact counter if tiktoken is not installed.

    Example: `counter("calibrated").count("Hello")` or `counter("tiktoken:gpt-4o").count("Hello")`.
    """
    if name in COUNTERS:
        return Counter(name, approximate=True, count=COUNTERS[name])
    if not name.startswith(_EXACT) or name == _EXACT:
        names = ", ".join([*COUNTERS, f"{_EXACT}<encoding or model>"])
        raise UnknownCounter(f"There is no token counter {name!r}. There are: {names}.")
    from kefu.context.tokens.bpe import encoding_of, exact_count

    encoding, approximate = encoding_of(name.removeprefix(_EXACT))
    return Counter(_EXACT + encoding, approximate=approximate, count=partial(exact_count, encoding))
