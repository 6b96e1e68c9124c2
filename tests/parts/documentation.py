"""Documentation sites, learnt and asked their own headings: `.parts/documentation`.

Each heading that is on one page alone, without its number, is a question. The page should be found.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from kefu.knowledge.finding import fits_badly
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from tests.parts.fetch import DOCUMENTATION

SITES = tuple(DOCUMENTATION)
LEAST = {"libreoffice-zh": 0.98}
"""The share of headings that find their pages, where it is another than 0.95."""
QUESTIONS = 300
AMONG = 5
URL = "https://docs.example/"

_NUMBER = re.compile(
    r"(?:(?:chapter|appendix|part) )?(?:[0-9]+|[A-Z]|[IVX]+)(?:\.[0-9]+)*\.\s+", re.IGNORECASE
)


class Asked(NamedTuple):
    question: str
    url: str


class Written(NamedTuple):
    """A question that somebody wrote, and the pages that answer it; none for `words` "none"."""

    site: str
    question: str
    words: str
    """Whose words it has: those of the `page`, or `other` words."""
    urls: Sequence[str]
    search: str
    """For `words` "other": the search words that a model may write, without having seen pages."""
    is_second: bool
    """Whether it was written after the ranking was chosen, and had no part in that."""


def written() -> Sequence[Written]:
    """Ninety questions over the sites, a third of them in Chinese, thirteen without an answer."""
    lines = Path(__file__).with_name("questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    return [
        Written(
            one["site"],
            one["q"],
            one["words"],
            [f"{URL}{page}" for page in one["gold"]],
            one.get("search", ""),
            one.get("by") == "second",
        )
        for one in rows
    ]


def learn(folder: Path, file: Path) -> None:
    """Learn a folder of HTML pages as a site."""
    command = [sys.executable, "-m", "kefu", "learn", str(folder), "--url", URL, "-o", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def headings(folder: Path) -> Sequence[Asked]:
    """A sample by a fixed seed."""
    places = defaultdict[str, set[str]](set)
    for page, url in _pages(folder):
        for node in LexborHTMLParser(page.read_bytes()).css("h1,h2,h3,h4,h5,h6"):
            text = " ".join(node.text().replace("¶", " ").split())
            places[_NUMBER.sub("", text, count=1)].add(url)
    once = sorted(Asked(text, *urls) for text, urls in places.items() if len(urls) == 1)
    asked = [one for one in once if len(re.findall(r"\w", one.question)) > 2]
    return random.Random(0).sample(asked, min(QUESTIONS, len(asked)))


def mistyped(asked: Sequence[Asked]) -> Sequence[Asked]:
    """The headings with a word of five letters, each with one typo in its longest word."""
    rng, typed = random.Random(2), list[Asked]()
    for question, url in asked:
        words = re.findall("[^\\W\\d_]{5,}", question)
        if not words or not max(words, key=len).isascii():
            continue
        word = max(words, key=len)
        at = rng.randrange(1, len(word) - 1)
        left, here, after, right = word[:at], word[at], word[at + 1], word[at + 2 :]
        one = rng.choice(
            (left + after + right, left + here * 2 + after + right, left + after + here + right)
        )
        typed.append(Asked(question.replace(word, one, 1), url))
    return typed


def without_accents(asked: Sequence[Asked]) -> Sequence[Asked]:
    """The headings as they are typed on a keyboard without accents."""
    parts = ((unicodedata.normalize("NFD", question), url) for question, url in asked)
    plain = (("".join(c for c in text if not unicodedata.combining(c)), url) for text, url in parts)
    return [Asked(text.replace("đ", "d").replace("Đ", "D"), url) for text, url in plain]


def shortened(asked: Sequence[Asked]) -> Sequence[Asked]:
    """The headings of at least four words, each without one of them."""
    rng, short = random.Random(1), list[Asked]()
    for question, url in asked:
        words = question.split()
        if len(words) > 3:
            del words[rng.randrange(len(words))]
            short.append(Asked(" ".join(words), url))
    return short


def share_found(file: KnowledgeFile, asked: Sequence[Asked]) -> float:
    """The share of questions whose page is among the first passages."""
    found = [
        any(one.page == url for one in file.find(question, (), AMONG)) for question, url in asked
    ]
    return sum(found) / len(found)


class Found(NamedTuple):
    by_words: bool
    is_asked: bool
    """Whether the model is asked for search words."""
    with_search: bool
    """With the search words of the question, if the model is asked for them."""


def found(file: KnowledgeFile, one: Written) -> Found:
    """Whether a page that answers the question is among the first passages."""
    first = file.find(one.question, (), AMONG)
    is_asked = fits_badly(first, one.question, (), file.languages)
    words = f"{one.question}\n{one.search}" if is_asked and one.search else one.question
    second = file.find(words, (), AMONG)
    hits = [any(hit.page in one.urls for hit in hits) for hits in (first, second)]
    return Found(hits[0], is_asked, hits[1])


def _pages(folder: Path) -> Sequence[tuple[Path, str]]:
    pages = sorted(folder.rglob("*.html"))
    return [(one, f"{URL}{one.relative_to(folder).as_posix()}") for one in pages]
