"""Reduces a word to its stem with the Snowball algorithm of its language."""

from __future__ import annotations

import re
from functools import cache, lru_cache

import Stemmer

ALGORITHMS = {
    "bs": "serbian",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "hr": "serbian",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "sk": "czech",
    "sl": "serbian",
    "sr": "serbian",
    "sv": "swedish",
    "tr": "turkish",
}
"""Languages in Latin script, and Serbian in both. Slovak and Slovenian have the algorithm of a near
language. Vietnamese is missing on purpose: its words do not change.
"""

_OTHER_SCRIPTS = "am ar bg bn el fa he hi ja ka km ko lo mk my ne ru si ta te th uk ur zh"
OTHER_SCRIPTS = frozenset(_OTHER_SCRIPTS.split())
"""Languages in other scripts. Words in Latin script on their pages are mostly English."""

_SCRIPTS = (
    (re.compile("[\u0400-\u052f]"), "russian"),
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), "greek"),
    (re.compile("[\u0600-\u06ff]"), "arabic"),
    (re.compile("[\u0900-\u097f]"), "hindi"),
    (re.compile("[\u0b80-\u0bff]"), "tamil"),
)
"""In scripts other than Latin, the script decides on the algorithm."""

_OWN = {"fa": "persian", "sr": "serbian"}
"""Languages whose words end otherwise than most words of their script."""


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm, 0)


@lru_cache(maxsize=65536)
def stem(word: str, language: str) -> str:
    """The stem of a casefolded word; mostly, the script decides for words in other than Latin."""
    if word.isascii():
        if word.isdigit():
            return word
        algorithm = _of_latin_words(language)
    else:
        found = (name for script, name in _SCRIPTS if script.search(word))
        algorithm = _OWN.get(language) or next(found, None) or _of_latin_words(language)
    return _stemmer(algorithm).stemWord(word) if algorithm else word


def _of_latin_words(language: str) -> str | None:
    return "english" if language in OTHER_SCRIPTS else ALGORITHMS.get(language)
