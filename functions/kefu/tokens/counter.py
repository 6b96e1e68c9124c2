"""Counters by name: cheap estimates, and exact counts where tiktoken is installed."""

from __future__ import annotations

from collections.abc import Callable

from kefu.errors import UnknownCounter
from kefu.tokens.calibrated import estimate_calibrated
from kefu.tokens.cjk import estimate_tokens_v1
from kefu.tokens.utf8 import estimate_message_tokens
from kefu.tokens.utf16 import estimate_chars4

COUNTERS: dict[str, Callable[[str], int]] = {
    "bytes4": estimate_message_tokens,
    "calibrated": estimate_calibrated,
    "chars4": estimate_chars4,
    "cjk_v1": estimate_tokens_v1,
}
"""Every counter promises: 0 for the empty text, else at least 1; linear time; it never raises."""

_EXACT = "tiktoken:"


class Counter:
    """How many tokens a text has. Call it, or call `count`, which saves a step."""

    __slots__ = ("approximate", "count", "name")

    def __init__(self, name: str, *, approximate: bool, count: Callable[[str], int]) -> None:
        self.name = name
        """What was asked for; an exact counter's, `tiktoken:` and the encoding it counts in."""
        self.approximate = approximate
        """False only where the model's own tokenizer is public, known and used."""
        self.count = count

    def __call__(self, text: str) -> int:
        return self.count(text)


def counter(name: str) -> Counter:
    """A counter of `COUNTERS`, or `tiktoken:` with the name of an encoding or of a model.

    A model whose tokenizer is not known is counted in o200k_base, and `approximate` says so. The
    encoding's tables are loaded by the first text that is counted, not here.

    Raises `UnknownCounter`, a ValueError, for any other name, and `TiktokenMissing`, an
    ImportError, if an exact counter is asked for and `kefu[tokens]` is not installed.
    """
    if name in COUNTERS:
        return Counter(name, approximate=True, count=COUNTERS[name])
    if not name.startswith(_EXACT) or name == _EXACT:
        known = ", ".join([*COUNTERS, f"{_EXACT}<encoding or model>"])
        raise UnknownCounter(f"There is no token counter {name!r}. There are: {known}.")
    from kefu.tokens.bpe import exact

    tokenizer = exact(name.removeprefix(_EXACT))
    return Counter(
        _EXACT + tokenizer.name, approximate=tokenizer.approximate, count=tokenizer.count
    )
