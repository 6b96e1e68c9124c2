"""Recognizes the language of an answer: by its script, else by its most frequent short words."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SCRIPTS: Mapping[str, str] = {
    "ja": "\u3040-\u30ff",
    "ko": "\uac00-\ud7af\u1100-\u11ff",
    "zh": "\u4e00-\u9fff\u3400-\u4dbf",
    "ru": "\u0400-\u04ff",
    "ar": "\u0600-\u06ff",
    "he": "\u0590-\u05ff",
    "el": "\u0370-\u03ff",
    "th": "\u0e00-\u0e7f",
    "hi": "\u0900-\u097f",
}

_FREQUENT = """
en: the of and to in is you that it for are with on we your our can not have this be will at from
    or by as please if
de: der die das und ist nicht ein eine sie wir mit für auf den dem von zu im bei uhr oder können
    ihre bitte auch werden haben sind es ich ihr
fr: le la les des et est une un vous nous que pour dans sur avec pas de du ce votre notre au aux
    ou sont par il être avez
es: el la los las de que y en un una es por con para se del no su nuestro puede más está son al lo
    usted nos o como hay
pt: o a os as de que e em um uma é por com para não do da no na seu nosso pode mais você são ao
    nos dos das ou
it: il lo la gli le di che e un una è per con non del della nel sono si può nostro da al più ci
    dei alla anche
nl: de het een en van is dat niet op te in met voor u wij zijn je ons bij uw kunt aan er ook maar
    om of
id: yang dan di untuk dengan ini itu dari tidak anda kami pada ke adalah dapat akan atau bisa kita
    saya ada oleh
vi: là và của có không được cho với các một trong bạn chúng tôi này những để từ đến hoặc thể vào
    tại
"""

_WORDS = {
    code: frozenset(words.split())
    for code, words in re.findall(
        r"^(\w\w): (.*?)(?=^\w\w: |\Z)", _FREQUENT, re.MULTILINE | re.DOTALL
    )
}

LANGUAGES = tuple(sorted({*_SCRIPTS, *_WORDS}))


def language_of(text: str) -> str:
    """The code of the language, such as `de`; empty if it is not recognized.

    Addresses and code are left out. Kana decide for Japanese, which also has Chinese characters.
    """
    text = re.sub(r"```.*?(```|$)|`[^`]*`|https?://\S+", " ", text, flags=re.DOTALL).casefold()
    counts = {code: len(re.findall(f"[{letters}]", text)) for code, letters in _SCRIPTS.items()}
    words = re.findall(r"[^\W\d_]+", text)
    latin = sum(len(word) for word in words) - sum(counts.values())
    if counts["ja"]:
        counts["ja"] += counts["zh"]
    best = max(counts, key=lambda code: counts[code])
    # Chinese, Japanese and Korean texts often have Latin names; a character is a syllable.
    if counts[best] * 3 > latin:
        return best
    known = {code: sum(word in frequent for word in words) for code, frequent in _WORDS.items()}
    best = max(known, key=lambda code: known[code])
    tied = sum(count == known[best] for count in known.values()) > 1
    return best if known[best] and not tied else ""
