"""Marks what may belong to one person in a text that becomes public.

An answer to one visitor is read by all others once it is saved. The marks are for a person who
reads the text again: the patterns find too much rather than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

Kind = Literal["email", "phone", "number", "name"]


class Mark(NamedTuple):
    """A part of a text, from `start` to before `end`, in characters."""

    start: int
    end: int
    kind: Kind


_EMAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![\w.,/-])(?:\+|\(\+?)?\d[\d \u00a0()./-]{5,22}\d(?![\w])")
_DATE = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4}|\d{4} ?[-/] ?\d{4}"
)
_PHONE_DIGITS = range(7, 16)
_NUMBER = re.compile(r"#?[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*")
_NUMBER_DIGITS, _MIXED_DIGITS = 5, 4
"""Digits of an order number, and of one that has letters, too."""
_NUMBERED = re.compile(
    r"(?:\b(?:order|invoice|booking|reservation|customer|ticket|parcel|tracking|case|contract"
    r"|bestellung|rechnung|buchung|kundennummer|commande|facture|pedido|factura|ordine|ordre"
    r"|zamówienie|sipariş)\b\W{0,3}(?:(?:number|no|nr|num|id|código|numéro)\b\W{0,3})?"
    r"|(?:订单|訂單|单号|單號|运单|運單|快递|編號|编号|注文番号)(?:号|號)?\W{0,3})"
    r"(?=[#A-Za-z-]{0,6}\d)([#\w-]+)",
    re.IGNORECASE,
)
_CAPITALIZED = r"[^\W\d_a-zß-öø-ÿ][^\W\d_]+(?:[-'’][^\W\d_]+)*"
_NAME = rf"({_CAPITALIZED}(?:[ \u00a0]{_CAPITALIZED}){{0,2}})"
_ADDRESSED = re.compile(
    r"(?:\b(?i:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herrn?|Frau|Monsieur|Madame|Mme|Señora?|Sra?|Signora?|Sig"
    r"|Pan|Pani|Fru)\b\.?"
    r"|\b(?i:Dear|Hi|Hello|Hey|Thanks|Thank you|Hallo|Liebe[rs]?|Guten Tag|Bonjour|Cher|Chère|Hola"
    r"|Querid[oa]|Estimad[oa]|Ciao|Buongiorno|Gentile|Hei|Hej|Kjære|Olá|Merhaba|Beste)\b,?"
    r"|\b(?i:my name is|I am|I'm|this is|ich heiße|mein Name ist|ich bin|je m'appelle|je suis"
    r"|me llamo|soy|mi chiamo|sono|jeg heter|mijn naam is)\b)[ \u00a0]+" + _NAME,
)
_ADDRESSED_TO_MANY = """
all again and anyone both customer customers everybody everyone for friend friends guest guests
kunde kunden madam team there visitor visitors you
"""
_NO_NAMES = frozenset(_ADDRESSED_TO_MANY.split())
_SURNAMES = (
    "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧"
    "许許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎余潘杜戴夏钟鍾汪田任姜范方石姚谭譚廖邹鄒熊金陆陸郝孔白崔康"
    "毛邱秦江史顾顧侯邵孟龙龍万萬段雷钱錢汤湯尹黎易常武乔喬贺賀赖賴龚龔文"
)
_CHINESE = re.compile(
    rf"((?:欧阳|歐陽|司马|司馬|诸葛|諸葛|上官|[{_SURNAMES}])[\u4e00-\u9fff]{{0,2}}?)"
    r"(?:先生|女士|小姐|太太|老师|老師|同学|同學)"
    r"|(?:我叫|我的名字是|姓名[:：]|联系人[:：]|聯絡人[:：])([\u4e00-\u9fff]{2,4})"
)


def personal_marks(text: str, known: Iterable[str] = ()) -> list[Mark]:
    """The parts of a text that may name a person, by place; they do not overlap.

    Mail addresses, phone numbers, numbers of orders and the like, and names. `known`: names and
    addresses of the visitor, which are marked wherever they stand.
    """
    found = sorted(_found(text, known), key=lambda one: (one.start, -one.end))
    kept = list[Mark]()
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _found(text: str, known: Iterable[str]) -> Iterator[Mark]:
    yield from (Mark(*one.span(), "email") for one in _EMAIL.finditer(text))
    for one in _PHONE.finditer(text):
        digits = sum(character.isdigit() for character in one[0])
        if digits in _PHONE_DIGITS and not _DATE.fullmatch(one[0]):
            yield Mark(*one.span(), "phone")
    for one in _NUMBER.finditer(text):
        is_mixed = any(character.isalpha() for character in one[0])
        digits = sum(character.isdigit() for character in one[0])
        is_long = digits >= (_MIXED_DIGITS if is_mixed else _NUMBER_DIGITS)
        if is_long and not _DATE.fullmatch(one[0]):
            yield Mark(*one.span(), "number")
    yield from (Mark(*one.span(1), "number") for one in _NUMBERED.finditer(text))
    for one in _ADDRESSED.finditer(text):
        if one[1].split()[0].casefold() not in _NO_NAMES:
            yield Mark(*one.span(1), "name")
    for one in _CHINESE.finditer(text):
        yield Mark(*one.span(1 if one[1] else 2), "name")
    yield from _known(text, known)


def _known(text: str, known: Iterable[str]) -> Iterator[Mark]:
    """The known names, and each of their words that is longer than a letter."""
    words = {word for name in known for word in (name.strip(), *name.split()) if len(word) > 1}
    for word in words:
        # Chinese has no spaces between words.
        ends = r"(?<!\w){}(?!\w)" if word.isascii() else "{}"
        pattern = re.compile(ends.format(re.escape(word)), re.IGNORECASE)
        yield from (Mark(*one.span(), "name") for one in pattern.finditer(text))
