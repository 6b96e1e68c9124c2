"""Questions with answers, products, opening hours and addresses in a page's JSON-LD.

Sites without text in their HTML have it, too. https://schema.org names the fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from kefu.knowledge.terms import language_of

Json = Mapping[str, Any]

_NAMES = {
    "en": "Price|Availability|Brand|Number|Description|Rating|Telephone|E-mail|Address|Open",
    "zh": "价格|库存|品牌|编号|描述|评分|电话|邮箱|地址|营业时间",
}
_DAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "zh": "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
}
_KEY_NAMES = "price availability brand sku description rating telephone email address hours"
_KEYS = tuple(_KEY_NAMES.split(" "))
_WEEK = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_DAY = re.compile(r"\b(Mo|Tu|We|Th|Fr|Sa|Su)(?:[a-z]+)?\b")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SOLD_OUT = {"out of stock": "缺货", "sold out": "缺货", "in stock": "有货", "pre order": "预订"}
_ADDRESS = ("streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry")


class Fact(NamedTuple):
    name: str
    value: str


def objects(tree: LexborHTMLParser) -> Iterator[Json]:
    """All JSON objects of the page's JSON-LD, outer ones first. Damaged JSON is passed over."""
    for node in tree.css("script[type='application/ld+json']"):
        try:
            waiting = [json.loads(node.text())]
        except (ValueError, RecursionError):
            continue
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                yield one
                waiting += reversed(one.values())
            elif isinstance(one, list):
                waiting += reversed(one)


def read_questions(data: Iterable[Json]) -> Iterator[tuple[str, str]]:
    """Each question with its answer, both in HTML."""
    for one in data:
        name, answer = one.get("name"), one.get("acceptedAnswer")
        text = answer.get("text") if isinstance(answer, dict) else None
        if one.get("@type") == "Question" and isinstance(name, str) and isinstance(text, str):
            yield name, text


def read_facts(data: Iterable[Json], language: str) -> Iterator[tuple[str, list[Fact]]]:
    """The names of products and businesses, each with its facts, in the page's language."""
    tag, names = _tag(language), fact_names(language)
    for one in data:
        types = _types(one)
        found = _product(one, language) if "Product" in types else _business(one, tag)
        facts = [Fact(names[key], value) for key, value in found if value and types != ["Person"]]
        if facts:
            yield _text(one.get("name")), facts


def fact_names(language: str) -> dict[str, str]:
    """The names of facts by their keys, in the language of a page."""
    return dict(zip(_KEYS, _NAMES[_tag(language)].split("|"), strict=True))


def _tag(language: str) -> str:
    return "zh" if language_of(language) == "zh" else "en"


def _types(one: Json) -> list[str]:
    named = one.get("@type")
    return [str(each) for each in named] if isinstance(named, list) else [str(named)]


def _product(one: Json, language: str) -> Iterator[tuple[str, str]]:
    for offer in _each(one.get("offers")):
        low, high = _text(offer.get("lowPrice")), _text(offer.get("highPrice"))
        price = _text(offer.get("price")) or "–".join(dict.fromkeys(filter(None, (low, high))))
        if price:
            yield "price", f"{price} {_text(offer.get('priceCurrency'))}".strip()
        yield "availability", sold_as(_text(offer.get("availability")), language)
    for brand in _each(one.get("brand")):
        yield "brand", _text(brand.get("name"))
    yield "sku", _text(one.get("sku"))
    yield "description", _text(one.get("description"))
    for rating in _each(one.get("aggregateRating")):
        best = _text(rating.get("bestRating")) or "5"
        if value := _text(rating.get("ratingValue")):
            yield "rating", f"{value} / {best}"


def _business(one: Json, tag: str) -> Iterator[tuple[str, str]]:
    yield "telephone", _text(one.get("telephone"))
    yield "email", _text(one.get("email")).removeprefix("mailto:")
    for address in _each(one.get("address")):
        yield "address", ", ".join(filter(None, (_text(address.get(key)) for key in _ADDRESS)))
    if isinstance(one.get("address"), str):
        yield "address", _text(one["address"])
    hours = one.get("openingHours")
    for line in hours if isinstance(hours, list) else [hours]:
        yield "hours", _named_days(_text(line), tag)
    for span in _each(one.get("openingHoursSpecification")):
        days = span.get("dayOfWeek")
        named = " ".join(_text(day).rpartition("/")[2] for day in _listed(days))
        times = "–".join(filter(None, (_text(span.get("opens")), _text(span.get("closes")))))
        if times:
            yield "hours", f"{_named_days(named, tag)} {times}".strip()


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _each(value: object) -> list[Json]:
    return [one for one in _listed(value) if isinstance(one, dict)]


def _text(value: object) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value}" if is_number else ""


def sold_as(availability: str, language: str) -> str:
    """`in stock` for `https://schema.org/InStock` or `in_stock`."""
    words = _CAMEL.sub(" ", availability.rpartition("/")[2]).lower().replace("_", " ")
    return _SOLD_OUT.get(words, words) if _tag(language) == "zh" else words


def _named_days(text: str, tag: str) -> str:
    """`Mo-Fr 09:00-17:00` with the names of the days."""
    days = _DAYS[tag].split()
    return _DAY.sub(lambda found: days[_WEEK.index(found[1])], text).replace("-", "–")
