"""Cuts a text into the terms that the index holds. Pages and questions use the same function.

Words are reduced to their stems. Chinese, Japanese and Korean text becomes pairs of characters,
because it can be searched without a dictionary then. Thai, Lao, Khmer and Burmese, which put no
space between words and write vowels as marks, become groups of three characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache

from kefu.knowledge import stop_words
from kefu.knowledge.simplified import simplified
from kefu.knowledge.stemming import ALGORITHMS, OTHER_SCRIPTS, stem

UNMARKED = "´"
"""Begins a term for a word with accents, spelt without them. The index treats it as a letter."""

VERSION = 2
"""The version of how terms are made. An index of another version is refused."""

CHANGED = frozenset({"fa", "sr"})
"""The languages whose terms were others in version 1. An index without them is still read."""

WHOLE_HEADING_MARK = "¶"
"""Begins each part of a term for a whole heading. The index treats this sign as a letter."""

_PAIRS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_TRIPLES = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u0900-\u0963\u0966-\u0dff"
    "\u0f18-\u0fbc"
)
_RUN = re.compile(
    f"(?P<pairs>[{_PAIRS}]+)|(?P<triples>[{_TRIPLES}]+)"
    f"|(?P<word>(?:[^\\W_{_PAIRS}{_TRIPLES}]|[{_MARKS}])+)"
)
_ACCENTS = re.compile("([a-z\u03b1-\u03c9])[\u0300-\u036f]+")
_BASES = str.maketrans("đłøħıŧ", "dlohit")
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u0640"))
_MAX_TERM_CHARS = 64
"""Characters of a term. Longer runs of characters are data and no words."""


def normal(text: str) -> str:
    """NFKC and casefolded, without invisible characters inside words."""
    # The Turkish capital of "i" would become two characters.
    return unicodedata.normalize("NFKC", text.translate(_ZERO_WIDTH)).replace("İ", "i").casefold()


def language_of(tag: str) -> str:
    """The first part of a language tag, in lower case: `de` of `de-AT`."""
    return re.split("[-_]", tag.strip().lower(), maxsplit=1)[0]


def terms(text: str, language: str) -> list[str]:
    """The terms of a page's text, in order; `language` is `en`, `de` or empty."""
    return [term for kind, run in _runs(normal(text)) for term in _terms(kind, run, (language,))]


def question_terms(text: str, languages: Sequence[str], asked_in: Sequence[str] = ()) -> list[str]:
    """The terms of a question, without stop words and without repetitions.

    A word is looked up by its stem in each of `languages`, those of the indexed pages: a question
    is too short to tell its language. A question of stop words alone is unchanged. `asked_in`: the
    languages of the words around its subject, if they are others.
    """
    found = normal(text)
    kept = _subject(found, asked_in or languages) or _without(found, _STOPS) or _runs(found)
    return _distinct(kept, languages)


def asking_language(text: str, languages: Sequence[str]) -> Sequence[str]:
    """The one of a site's languages that has most of the words around a question's subject.

    Empty if that is not clear: one word may be the subject in another language.
    """
    words = [run for kind, run in runs(text) if kind == "word"]
    counts = sorted((sum(one in _said(tag) for one in words), tag) for tag in languages)[::-1]
    most, tag = counts[0] if counts else (0, "")
    is_clear = most >= _LEAST_SAID and (len(counts) == 1 or counts[1][0] < most)
    return (tag,) if is_clear else ()


def has_subject(text: str, languages: Sequence[str]) -> bool:
    """Whether a text has more than stop words, greetings and thanks."""
    return bool(_subject(normal(text), languages))


_STOPS = stop_words.ENGLISH | stop_words.OTHERS
_LEAST_SAID = 2
"""The least words around a subject that tell the language of a question."""


def _subject(text: str, languages: Sequence[str]) -> list[tuple[str, str]]:
    cut = stop_words.greetings().sub(" ", text)
    if not cut.isascii():
        cut = stop_words.asking_unspaced().sub(" ", cut)
    return _without(cut, _stops(tuple(languages)))


@cache
def _stops(languages: tuple[str, ...]) -> frozenset[str]:
    return _STOPS.union(*map(_said, languages))


@cache
def _said(language: str) -> frozenset[str]:
    """What people say around a subject in a language, also as it is typed without accents."""
    said = _OF_QUESTIONS.get(language, frozenset()).union(stop_words.ASKING.get(language, ()))
    return said.union(map(unmarked, said))


def _without(text: str, stops: Collection[str]) -> list[tuple[str, str]]:
    """The runs of a normal text without stop words."""
    found = _runs(text if text.isascii() else stop_words.han().sub(" ", text))
    return [one for one in found if one[0] != "word" or one[1] not in stops]


def _distinct(found: Iterable[tuple[str, str]], languages: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(term for kind, run in found for term in _terms(kind, run, languages)))


def unmarked(text: str) -> str:
    """A normal text without the accents of Latin and Greek letters, as some type it."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub(r"\1", parts)).translate(_BASES)


def unmarked_terms(text: str, language: str) -> list[str]:
    """A term for each word of a page with accents, for questions without accents."""
    words = (run for kind, run in _runs(normal(text)) if kind == "word" and not run.isascii())
    plain = ((word, unmarked(word)) for word in words)
    return [
        f"{UNMARKED}{stem(typed[:_MAX_TERM_CHARS], language)}"
        for word, typed in plain
        if typed != word
    ]


def typed_terms(text: str, languages: Sequence[str], asked_in: Sequence[str] = ()) -> list[str]:
    """The terms of `unmarked_terms` for the words of a question that have no accents."""
    kept = _subject(normal(text), asked_in or languages)
    words = (run for kind, run in kept if kind == "word")
    typed = (word for word in words if unmarked(word) == word)
    stems = (one for word in typed for one in _terms("word", word, languages))
    return list(dict.fromkeys(f"{UNMARKED}{one}" for one in stems))


def replaced(text: str, replace: Callable[[str], str]) -> str:
    """A normal text in which each word was replaced."""
    return _RUN.sub(
        lambda found: replace(found[0]) if found.lastgroup == "word" else found[0], normal(text)
    )


_MAX_HEADING_CHARS = 300
"""Characters of a heading."""
_NUMBERING = re.compile(r"\s*(?:\d+(?:\.\d+)*\.?|[A-Z]\.(?:\d+\.)*)\s+(?=\S)")


def unnumbered(heading: str) -> str:
    """A heading without the number at its begin, such as `2.1.`."""
    return _NUMBERING.sub("", heading, count=1)


def whole_term(text: str, language: str) -> str:
    """One term for a heading or title as a whole, without its number and in any order of its words.

    A question has this term, too, so that a heading's words find the text below it.
    """
    found = normal(unnumbered(text[:_MAX_HEADING_CHARS]))
    return _whole(_distinct(_without(found, _STOPS) or _runs(found), (language,)))


def whole_terms(question: str, language: str, asked_in: Sequence[str] = ()) -> set[str]:
    """The terms of headings that a question may be, or that it asks about."""
    about = question_terms(unnumbered(question[:_MAX_HEADING_CHARS]), (language,), asked_in)
    return {whole_term(question, language), _whole(about)} - {""}


def _whole(parts: Iterable[str]) -> str:
    return "".join(f"{WHOLE_HEADING_MARK}{one}" for one in sorted(parts))


def _runs(text: str) -> Iterator[tuple[str, str]]:
    for match in _RUN.finditer(text):
        yield match.lastgroup or "", match[0]


def _terms(kind: str, run: str, languages: Sequence[str]) -> Iterator[str]:
    if kind == "word":
        yield from dict.fromkeys(stem(run[:_MAX_TERM_CHARS], one) for one in languages or ("",))
        return
    size = 2 if kind == "pairs" else 3
    for start in range(max(1, len(run) - size + 1)):
        yield run[start : start + size]


def characters(text: str) -> list[str]:
    """The single Chinese, Japanese and Korean characters of a text."""
    return [character for kind, run in runs(text) if kind == "pairs" for character in run]


def runs(text: str) -> Iterator[tuple[str, str]]:
    """The words and runs of a text, each with its kind: `word`, `pairs` or `triples`."""
    return _runs(normal(text))


def is_pair(term: str) -> bool:
    """Whether a term consists of one or two Chinese characters."""
    return 1 <= len(term) <= 2 and all(map(_is_chinese, term))


def _is_chinese(character: str) -> bool:
    # Comparisons, because a regular expression of these ranges takes 2 ms of a cold start.
    return (
        "\u3400" <= character <= "\u4dbf"
        or "\u4e00" <= character <= "\u9fff"
        or "\U00020000" <= character <= "\U000323af"
    )


_LATIN = re.compile("[a-zà-ɏḀ-ỿ]+")
_COMMON = {
    "cs": "je se že pro jako ale nebo není jsou při být jsem které když",
    "de": "der die und das ist nicht mit für auf ein eine von zu den",
    "en": "the and of to is in that for it with you are on this",
    "es": "el la los de que y en las para con por un una es del se",
    "fi": "ja ei että tai myös kun jos ovat voi oli mutta sekä kuin joka",
    "fr": "le la les de des du un une et est en que pour dans sur pas vous avec",
    "hr": "je se da ne su kako koji ili ako koje nije što",
    "hu": "az és hogy nem egy ez meg vagy ha kell csak",
    "id": "yang dan di untuk dengan ini dari pada tidak dalam adalah akan",
    "it": "il che di per non una sono con del della gli le si da",
    "nl": "de het een van en is niet dat voor op zijn met te",
    "pl": "nie się na jest że do to jak i w z dla od po",
    "pt": "o que de não uma os para com em do da é por mais",
    "ro": "și în de la care pe cu un este din nu sunt să mai",
    "sv": "och att det som en på är av för med den till inte har",
    "tr": "ve bir bu için ile olarak da de çok daha olan gibi en",
    "vi": "và của là có không được cho trong các một những với để",
}
LANGUAGES = tuple(_COMMON)
"""All results of `guessed_language`."""
_COMMON_SETS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_OF_QUESTIONS = {**stop_words.OTHERS_BY_LANGUAGE, "en": stop_words.ENGLISH}
_ASKED_SETS = {tag: common | _OF_QUESTIONS.get(tag, set()) for tag, common in _COMMON_SETS.items()}


def guessed_language(text: str) -> str:
    """The language of a text in Latin script, by its most frequent words; `en` when unclear."""
    words = _LATIN.findall(normal(text[:4000]))
    counts = {tag: sum(w in common for w in words) for tag, common in _COMMON_SETS.items()}
    best = max(counts, key=lambda tag: (counts[tag], tag == "en"))
    return best if counts[best] else "en"


def asked_language(question: str) -> str:
    """The language of a question; "" if its words are not clearly of one language."""
    found = page_language("", question)
    if found not in _COMMON_SETS:
        return found
    words = _LATIN.findall(normal(question))
    counts = {tag: sum(one in common for one in words) for tag, common in _ASKED_SETS.items()}
    first, second = sorted(counts, key=lambda tag: -counts[tag])[:2]
    return first if counts[first] > counts[second] else ""


def language_told(text: str) -> str:
    """The language in which whoever wrote a text is answered; "" if it is not clear."""
    language = asked_language(text)
    return "zh-TW" if language == "zh" and simplified(text) != text else language


_LANGUAGE_BY_SCRIPT = {
    "ja": "\u3040-\u30ff",
    "ko": "\uac00-\ud7af",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff",
    "ru": "\u0400-\u052f",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff",
    "hi": "\u0900-\u097f",
    "bn": "\u0980-\u09ff",
    "ta": "\u0b80-\u0bff",
    "te": "\u0c00-\u0c7f",
    "th": "\u0e00-\u0e7f",
    "lo": "\u0e80-\u0eff",
    "my": "\u1000-\u109f",
    "ka": "\u10a0-\u10ff",
    "am": "\u1200-\u137f",
    "km": "\u1780-\u17ff",
    "si": "\u0d80-\u0dff",
}
"""The characters by which a language is guessed. Japanese is before Chinese, whose it has, too."""
_OTHER_LETTERS_SHARE = 0.2
"""Text in another script has so many letters of it beside Latin ones, such as in code."""


def page_language(tag: str, text: str) -> str:
    """The language of a page: the declared language if the text may be in it, or a guess."""
    named, begin = language_of(tag), text[:4000]
    if named in ALGORITHMS or named == "vi":
        return named
    letters = {one: len(re.findall(f"[{c}]", begin)) for one, c in _LANGUAGE_BY_SCRIPT.items()}
    latin = len(re.findall("[A-Za-z]", begin))
    if sum(letters.values()) <= _OTHER_LETTERS_SHARE * latin:
        # A page that was not translated, or one of code.
        return "en" if named in OTHER_SCRIPTS else guessed_language(text)
    if named in OTHER_SCRIPTS:
        return named
    is_japanese = letters["ja"] > _OTHER_LETTERS_SHARE * letters["zh"]
    return "ja" if is_japanese else max(letters, key=lambda one: letters[one])
