"""Words that say nothing about the subject of a question. Only questions lose their stop words."""

from __future__ import annotations

import re

_ENGLISH = """
a about all also am an and any are as at be been being but by can could d did do does find for from
get got had has have how i if in into is it its just know like ll m may me my need no not of on one
or our out please re s so some t tell that the their them then there these they this to up us ve
want was we were what when where which who whom whose why will with would you your
"""
ENGLISH = frozenset(_ENGLISH.split())
"""The stop words of questions in English."""

_OTHERS = {
    "de": "der die das den dem des ein eine einen einem einer ist sind war und oder wie wo wann"
    " warum welche welcher welches wer ich sie wir kann mit von zu zum zur für auf im bei",
    "fr": "le la les un une des du de et ou est sont que qui quoi comment où quand pourquoi"
    " quel quelle quels quelles je vous nous il elle dans pour sur avec ce cette mon ma"
    " mes votre vos l d qu n",
    "es": "el la los las de un una unos del y o es son que qué cómo cuándo dónde quién cuál por"
    " para con en mi su se",
    "pt": "o os uma de do da dos das e é são que qual como quando onde quem por para em na os"
    " meu minha se as",
    "it": "il lo la gli le un una di del della che è e mi su con",
    "ro": "în și de la un o ce cum cine care",
    "nl": "de het een van en is wat hoe waar",
    "id": "yang dan di ke apa bagaimana",
    "tr": "bir bu ve ne nasıl mi mı",
    "ru": "и в на с по что как где когда кто какой какая какие это я мы вы у за для из к о не ли",
    "vi": "là gì của và có được như thế nào ở đâu khi",
}
OTHERS_BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _OTHERS.items()}
OTHERS = frozenset[str]().union(*OTHERS_BY_LANGUAGE.values())
"""The stop words of questions in other languages. Some are English words, too."""

_HAN = (
    "为什么|怎么样|怎么办|怎么|怎样|什么|哪些|哪个|哪里|哪儿|多少|如何|是不是|有没有|能不能|可不可以"
    "|可以|请问|一下|我们|你们|他们|我的|你的|这个|那个|的|了|吗|呢|吧|啊|是|我|你|他|她|它|请|和|与|及"
    "|為什麼|怎麼樣|怎麼辦|怎麼|怎樣|什麼|哪個|哪裡|請問|們|這個|那個|嗎|請|與"
)
HAN = re.compile(_HAN)
"""Words and particles of questions in Chinese, which has no spaces between words."""
