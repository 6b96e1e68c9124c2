"""P26: words that are shown by nobody: neither the visitor's nor the model's."""

from __future__ import annotations

import re

from kefu.hooks.hook import Filter, Given, Hook, Visit, texts

MASK = "***"


class WordFilter(Hook):
    """Options: `words`, in any case. A word of letters is found as a whole word only."""

    def __init__(self, given: Given) -> None:
        words = texts(given.options, "words")
        self._longest = max(map(len, words), default=0)
        longest_first = sorted(words, key=len, reverse=True)
        self._words = re.compile("|".join(map(_pattern, longest_first)), re.IGNORECASE)

    def user_message(self, text: str, visit: Visit) -> str:
        return self._words.sub(MASK, text) if self._longest else text

    def answer(self, visit: Visit) -> Filter | None:
        return WordStream(self._words, self._longest) if self._longest else None


class WordStream(Filter):
    """The same of a text that comes in pieces: as much is held back as the longest word has, and
    one character, which tells whether it ends there.
    """

    def __init__(self, words: re.Pattern[str], longest: int) -> None:
        self._words = words
        self._longest = longest
        self._before = ""
        """The character before what is held: it tells whether a word begins there."""
        self._held = ""

    def feed(self, text: str) -> str:
        self._held += text
        return self._give(len(self._held) - self._longest)

    def close(self) -> str:
        return self._give(len(self._held))

    def _give(self, count: int) -> str:
        """Give out what begins in the first `count` characters that are held."""
        if count <= 0:
            return ""
        text, skip = self._before + self._held, len(self._before)
        at, out = skip, []
        for word in self._words.finditer(text, skip):
            if word.start() >= skip + count:
                break
            out += [text[at : word.start()], MASK]
            at = word.end()
        end = max(at, skip + count)
        out.append(text[at:end])
        self._before, self._held = text[end - 1 : end], text[end:]
        return "".join(out)


def _pattern(word: str) -> str:
    """Letters of an alphabet have words around them, Chinese characters have none."""
    begins = r"(?<![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", word) else ""
    ends = r"(?![A-Za-z0-9_])" if re.search(r"[A-Za-z0-9_]$", word) else ""
    return f"{begins}{re.escape(word)}{ends}"
