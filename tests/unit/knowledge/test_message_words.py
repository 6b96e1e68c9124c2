"""A search finds a message by each of its words, in any language and by a single character."""

from __future__ import annotations

import pytest

from kefu.knowledge.message_words import has_words, searched_words

TEXTS = [
    "Where are my parcels?",
    "我的包裹在哪里",
    "พัสดุของฉันอยู่ที่ไหน",
    "Versandkosten nach " + "x" * 80,
]


@pytest.mark.parametrize(
    "query",
    [
        "parcels",
        "PARCEL",
        "where parcel",
        "parcel 包裹",
        "包",
        "包裹",
        "我的包裹",
        "裹在哪",
        "พัสดุ",
        "ดุของ",
        "ของ",
        "Versandkosten",
        "x" * 80,
        "x" * 64,
    ],
)
def test_a_word_of_the_message_finds_it(query: str) -> None:
    assert has_words(TEXTS, searched_words(query))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "  ?!",
        "letter",
        "parcel letter",
        "裹包",
        "的裹",
        "包裹里",
        "ของพ",
        "สดุอ",
        "x" * 63,
        "parce",
    ],
)
def test_each_word_of_the_search_must_be_in_the_message(query: str) -> None:
    assert not has_words(TEXTS, searched_words(query))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ich habe zwei Pakete bestellt und sie sind nicht da.", "paket"),
        ("Les colis sont perdus et je ne sais pas pourquoi.", "colis"),
        ("Los paquetes que pedí no llegaron a mi casa.", "paquete"),
        ("ich", "ich"),
    ],
)
def test_a_word_is_found_by_its_stem_in_each_language(text: str, query: str) -> None:
    assert has_words([text], searched_words(query))
