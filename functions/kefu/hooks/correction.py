"""P25: slips that a site's visitors often make, put right before the model reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kefu.hooks.hook import BadOptions, Given, Hook, Visit

# Letters and digits that a Chinese keyboard may make twice as wide; punctuation stays.
_WIDE = {
    code: code - 0xFEE0
    for first, last in ("０９", "ＡＺ", "ａｚ")
    for code in range(ord(first), ord(last) + 1)
}


class TextCorrection(Hook):
    """Full-width letters and digits become plain ones; then every option is a text and what it
    should have been, as in `"退宽" = "退款"`. The longest goes first; nothing is put right twice.
    """

    def __init__(self, given: Given) -> None:
        self._right = _pairs(given.options)
        longest_first = sorted(self._right, key=len, reverse=True)
        self._wrong = re.compile("|".join(map(re.escape, longest_first)))

    def user_message(self, text: str, visit: Visit) -> str:
        text = text.translate(_WIDE)
        return self._wrong.sub(lambda wrong: self._right[wrong[0]], text) if self._right else text


def _pairs(options: Mapping[str, object]) -> dict[str, str]:
    for wrong, right in options.items():
        if not wrong or not isinstance(right, str):
            raise BadOptions(f"{wrong!r} must be a text and what it should have been")
    return {wrong: str(right) for wrong, right in options.items()}
