"""How much of an answer is in the passages that it cites: its numbers, names and addresses.

A wrong price or a made-up name is the usual harm of an invented answer, and it can be found
without a model. Other words are not compared, because a good answer has words of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kefu.evaluation.language import language_of

_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_CITED = re.compile(r"\[(\d{1,3})\]")
_ONLY_CITED = re.compile(r"(?:\s*\[\d{1,3}\])+\s*")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>()\[\]]+|[\w.+-]+@[\w-]+\.[\w.-]+")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d)[.,'\u2019](?=\d{3}(?!\d))")
_WORD = re.compile("(?:(?![\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])[\\w'\u2019-])+")
_LIST_MARK = re.compile(r"^\s*(?:[-*+#>]+|\d{1,2}[.)])\s+", re.MULTILINE)


class Groundedness(NamedTuple):
    share: float
    """The share of sentences whose facts are all in the cited passages; 1.0 without sentences."""
    missing: Sequence[str]
    """The facts that no cited passage has."""


def groundedness(answer: str, passages: Mapping[int, str], question: str) -> Groundedness:
    """Compare an answer with the passages that it cites, by number.

    A sentence is compared with the passages that it cites; without a citation, with all passages.
    Facts of the question count as known.
    """
    is_german = language_of(answer) == "de"
    sentences, good, missing = 0, 0, list[str]()
    for sentence in _sentences(answer):
        numbers = [int(one) for one in _CITED.findall(sentence)]
        cited = [passages[one] for one in numbers if one in passages] or list(passages.values())
        known = _folded("\n".join((*cited, question)))
        plain = _CITED.sub(" ", sentence)
        unknown = [one for one in _facts(plain, is_german=is_german) if not _is_in(one, known)]
        sentences += 1
        good += not unknown
        missing += unknown
    return Groundedness(good / sentences if sentences else 1.0, list(dict.fromkeys(missing)))


def _sentences(answer: str) -> list[str]:
    """The sentences; a citation behind the full stop belongs to the sentence before."""
    found = list[str]()
    for part in _END.split(_LIST_MARK.sub("", answer)):
        if not part or not part.strip():
            continue
        rest = part
        if found and (match := _ONLY_CITED.match(part)):
            found[-1] += match[0]
            rest = part[match.end() :]
        if rest.strip():
            found.append(rest)
    return found


def _facts(sentence: str, *, is_german: bool) -> Iterator[str]:
    """The addresses, numbers and names of a sentence."""
    yield from (one.rstrip(".,;:!?") for one in _ADDRESS.findall(sentence))
    text = _ADDRESS.sub(" ", sentence)
    yield from _NUMBER.findall(text)
    words = [word for word in _WORD.findall(text) if word[0].isalpha()]
    for place, whole in enumerate(words):
        word = whole.removesuffix("'s").removesuffix("\u2019s")
        # The first word begins with a capital letter anyway, as every noun does in German.
        has_capital = any(one.isupper() for one in word[1:])
        is_name = word[0].isupper() and place > 0 and len(word) > 1 and not is_german
        if is_name or has_capital:
            yield word


def _is_in(fact: str, known: str) -> bool:
    """Whether the text has the fact as a whole: 30 is not in 300."""
    folded = re.escape(_folded(fact))
    # Chinese and Japanese put no space between a number or a Latin name and their own words.
    return re.search(rf"(?<![a-z0-9])(?<!\d\.){folded}(?![a-z0-9])(?!\.\d)", known) is not None


def _folded(text: str) -> str:
    """The text in lower case; 1,000 is 1000, and 9,50 is 9.50."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return re.sub(r"(?<=\d),(?=\d)", ".", _THOUSANDS.sub("", plain))
