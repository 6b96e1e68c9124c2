"""P26: masks forbidden words in the messages of visitors and in the answers of the model."""

from __future__ import annotations

import re

from kefu.sessions.hooks.hook import Filter, Hook, HookConfig, HookContext, texts

MASK = "***"


class WordFilter(Hook):
    """Replaces words by `***`. Options: `words`, which match in any case.

    A word that starts or ends with a Latin letter, digit or `_` matches only at a word boundary.
    """

    def __init__(self, config: HookConfig) -> None:
        words = texts(config.options, "words")
        self._longest = max(map(len, words), default=0)
        longest_first = sorted(words, key=len, reverse=True)
        self._words = re.compile("|".join(map(_pattern, longest_first)), re.IGNORECASE)

    async def user_message(self, text: str, visit: HookContext) -> str:
        return self._words.sub(MASK, text) if self._longest else text

    def output(self, visit: HookContext) -> Filter | None:
        return WordStream(self._words, self._longest) if self._longest else None


class WordStream(Filter):
    """Masks the words in a text that arrives in pieces.

    As many characters as the longest word has are held back, because a word may be incomplete.
    """

    def __init__(self, words: re.Pattern[str], longest: int) -> None:
        self._words = words
        self._longest = longest
        self._before = ""
        """The character before the held text. This character decides on word boundaries."""
        self._held = ""

    def feed(self, text: str) -> str:
        self._held += text
        return self._release(len(self._held) - self._longest)

    def close(self) -> str:
        return self._release(len(self._held))

    def _release(self, count: int) -> str:
        """The first `count` characters of the held text with words masked.

        A word that starts in these characters is masked completely, even if it ends later.
        """
        if count <= 0:
            return ""
        text, skip = self._before + self._held, len(self._before)
        at, released = skip, []
        for word in self._words.finditer(text, skip):
            if word.start() >= skip + count:
                break
            released += [text[at : word.start()], MASK]
            at = word.end()
        end = max(at, skip + count)
        released.append(text[at:end])
        self._before, self._held = text[end - 1 : end], text[end:]
        return "".join(released)


def _pattern(word: str) -> str:
    """A regular expression for the word, with word boundaries at its Latin letters and digits.

    Chinese has no spaces between words, so Chinese words match everywhere.
    """
    begins = r"(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", word) else ""
    ends = r"(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]$", word) else ""
    return f"{begins}{re.escape(word)}{ends}"
