"""Replaces configured secrets in texts before they are shown or stored.

Only exact values are replaced. The log also searches for texts that look like keys. Chats do not,
because a wrong guess would change a visitor's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from kefu.relay.key_leak import MIN_KEY_SIZE

PLACEHOLDER = "[key]"

JSON_LEVELS = 2
"""Levels of JSON encoding: a secret is found in JSON text, and in JSON text that is itself a string
in JSON text.
"""


class Secrets:
    """The configured secrets: API keys, signing secrets, tokens."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._spellings: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.add_secrets(secrets)

    def add_secrets(self, secrets: Iterable[str]) -> None:
        """Add secrets. Earlier secrets are kept, because texts may contain them after a rotation.

        Secrets with fewer than `MIN_KEY_SIZE` characters are ignored: they match ordinary words.
        """
        for secret in secrets:
            if len(secret) >= MIN_KEY_SIZE:
                self._spellings.update(_spellings_of(secret))
        if self._spellings:
            longest_first = sorted(self._spellings, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def hide(self, text: str) -> str:
        """The text with each secret replaced by `[key]`."""
        return self._pattern.sub(PLACEHOLDER, text) if self._pattern else text


def _spellings_of(secret: str) -> Iterator[str]:
    """The secret itself and its JSON-escaped forms; for most secrets all forms are equal."""
    for ascii_only in (False, True):
        text = secret
        yield text
        for _ in range(JSON_LEVELS):
            text = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
            yield text
