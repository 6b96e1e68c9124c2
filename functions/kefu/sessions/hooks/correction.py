"""P25: corrects frequent typing errors of visitors before the message is saved."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kefu.sessions.hooks.hook import BadOptions, Hook, HookConfig, HookContext

# Full-width letters and digits, which Chinese input methods can produce. Punctuation is unchanged.
_WIDE = {
    code: code - 0xFEE0
    for first, last in ("０９", "ＡＺ", "ａｚ")
    for code in range(ord(first), ord(last) + 1)
}


class TextCorrection(Hook):
    """Replaces full-width letters and digits by ASCII, then wrong texts by right ones.

    Each option is a wrong text with its replacement, as in `"退宽" = "退款"`. Longer texts have
    precedence. Replacements are not searched again.
    """

    def __init__(self, config: HookConfig) -> None:
        self._replacements = _replacements(config.options)
        longest_first = sorted(self._replacements, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    async def user_message(self, text: str, visit: HookContext) -> str:
        text = text.translate(_WIDE)
        if not self._replacements:
            return text
        return self._pattern.sub(lambda match: self._replacements[match[0]], text)


def _replacements(options: Mapping[str, object]) -> dict[str, str]:
    for wrong, right in options.items():
        if not wrong or not isinstance(right, str):
            raise BadOptions(f"{wrong!r} must be a text with its replacement")
    return {wrong: str(right) for wrong, right in options.items()}
