"""G34: of a page in several languages, visitors get the page in theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.knowledge.extract.html import read_html
from kefu.knowledge.finding import PassageHit
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.terms import asked_language
from kefu.knowledge.translations import groups, in_one_language
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from kefu.stores.sqlite.knowledge.write import Run, write

SITE = "https://www.example.com"


def learnt(path: str, title: str, text: str, language: str, *others: str) -> Learnt:
    page = PageText(f"{SITE}/{path}", title, [Block(text)], language)
    notes = {"translations": "\n".join(f"{SITE}/{one}" for one in others)} if others else {}
    return Learnt(page, notes)


BOTH = ("en/webhooks", "zh/webhooks")
PAGES = [
    learnt("en/webhooks", "Webhooks", "WEBHOOK_SECRET signs each request to you.", "en", *BOTH),
    learnt("zh/webhooks", "Webhooks", "WEBHOOK_SECRET 对每个请求签名。", "zh-CN", *BOTH),
    learnt("en/prices", "Prices", "Each webhook request is free.", "en"),
]


def test_the_links_of_a_page_name_its_translations() -> None:
    html = """<link rel=alternate hreflang=en href=/en/a><link rel=alternate hreflang=zh
    href=/zh/a#x><link rel=alternate type=application/rss+xml href=/feed><p>Text"""
    assert read_html(html, f"{SITE}/en/a").translations == (f"{SITE}/en/a", f"{SITE}/zh/a")


def test_pages_are_together_if_each_names_the_other() -> None:
    first = f"{SITE}/en/webhooks"
    assert groups(PAGES) == {first: first, f"{SITE}/zh/webhooks": first}
    alone = learnt("en/prices", "Prices", "Free.", "en", "en/webhooks")
    assert groups([*PAGES[:2], alone]) == groups(PAGES)
    assert groups([alone]) == {}


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("how do I sign the request", "en"),
        ("wie ist das mit der Post", "de"),
        ("WEBHOOK_SECRET", ""),
        ("怎么签名 WEBHOOK_SECRET", "zh"),
        ("Доставка", "ru"),
        ("", ""),
    ],
)
def test_a_question_is_in_a_language_only_if_a_frequent_word_says_so(
    question: str, language: str
) -> None:
    assert asked_language(question) == language


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what is the WEBHOOK_SECRET in a request for?", ["en/webhooks", "en/prices"]),
        ("WEBHOOK_SECRET 怎么给 request 签名？", ["zh/webhooks", "en/prices"]),
        ("WEBHOOK_SECRET request", ["en/webhooks", "en/prices"]),
    ],
)
def test_g34_a_page_in_several_languages_takes_one_place(
    tmp_path: Path, question: str, expected: list[str]
) -> None:
    write(tmp_path / "site.kefu", Run(PAGES, [], 0.0))
    file = KnowledgeFile(tmp_path / "site.kefu")
    found = [one.page.removeprefix(f"{SITE}/") for one in file.find(question, (), 6)]
    file.close()
    assert found == expected


def test_without_a_page_in_the_questions_language_the_best_one_stays() -> None:
    hits = [PassageHit(one, "", "", (), one, 1.0, one) for one in ("fr", "de", "fr", "other")]
    same = dict.fromkeys(("fr", "de", "zh"), "de")
    kept = in_one_language(hits, same, "what is the price of it?")
    assert [one.page for one in kept] == ["fr", "fr", "other"]
    kept = in_one_language(hits, same, "was ist der Preis und ist das mit Versand?")
    assert [one.page for one in kept] == ["de", "other"]
