"""G34: a feed of 5,000 products is a source, beside others, and is learnt again when it changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.bootstrap.learn import Options, hosts, learn
from kefu.knowledge.learning import LearningReport
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from tests.fakes.site import Answer, Site, html, served

PRODUCTS = 5_000


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as running:
        yield running


def feed(count: int, *, price: int = 9) -> Answer:
    rows = [
        {
            "id": f"T-{n}",
            "title": f"Tent model {n}",
            "link": f"/tents/{n}",
            "price": f"{price if n == 7 else 100 + n} EUR",
            "availability": "in_stock",
            "description": f"A tent for {n % 6 + 1} persons, made of cotton, with {n} pegs. " * 3,
        }
        for n in range(count)
    ]
    return Answer("\n".join(map(json.dumps, rows)).encode(), type="application/jsonl")


def learnt(sources: list[str], file: Path) -> LearningReport:
    return learn(sources, Options(file, private_hosts=hosts(sources)), lambda _: None)


def best(file: Path, question: str) -> tuple[str, str]:
    opened = KnowledgeFile(file)
    try:
        found = opened.find(question, (), 6)[0]
        return found.url, found.text
    finally:
        opened.close()


@pytest.mark.slow
def test_g34_a_changed_price_of_5000_products_is_found_after_the_next_run(
    site: Site, tmp_path: Path
) -> None:
    source, file = f"{site.url}/feed.jsonl", tmp_path / "site.kefu"
    site.pages["/feed.jsonl"] = feed(PRODUCTS)
    assert learnt([source], file).pages == PRODUCTS
    url, text = best(file, "how much is tent model 7?")
    assert url == f"{site.url}/tents/7"
    assert "Price: 9 EUR | Availability: in stock" in text
    site.pages["/feed.jsonl"] = feed(PRODUCTS, price=8)
    report = learnt([source], file)
    assert sum(one.kind == "learnt" for one in report.outcomes) == 1
    assert "Price: 8 EUR" in best(file, "how much is tent model 7?")[1]


def test_g34_an_unchanged_feed_is_not_sent_and_a_failed_one_keeps_its_items(
    site: Site, tmp_path: Path
) -> None:
    source, file = f"{site.url}/feed.jsonl", tmp_path / "site.kefu"
    site.pages["/feed.jsonl"] = feed(20)
    first = learnt([source], file)
    assert [first.pages, first.bodies] == [20, 1]
    second = learnt([source], file)
    assert [second.pages, second.bodies] == [20, 0]
    site.pages["/feed.jsonl"] = Answer(b"", 500)
    failed = learnt([source], file)
    assert {one.kind for one in failed.outcomes} == {"kept"}
    assert best(file, "tent model 7")[0] == f"{site.url}/tents/7"
    site.pages["/feed.jsonl"] = feed(19)
    learnt([source], file)
    assert best(file, "tent model 19")[0] != f"{site.url}/tents/19"


def test_g34_a_broken_line_of_a_feed_is_named(site: Site, tmp_path: Path) -> None:
    source = f"{site.url}/feed.jsonl"
    whole = feed(2)
    site.pages["/feed.jsonl"] = whole._replace(body=whole.body + b"\n{")
    report = learnt([source], tmp_path / "site.kefu")
    assert report.pages == 2
    [skipped] = [one for one in report.outcomes if one.kind == "skipped"]
    assert (skipped.url, skipped.reason) == (source, "not JSON: line 3")


def test_g34_a_feed_is_learnt_beside_a_site(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "site.kefu"
    site.pages |= {"/feed.jsonl": feed(5), "/help/": html("Returns")}
    report = learnt([f"{site.url}/feed.jsonl", f"{site.url}/help/"], file)
    assert report.pages == 6
    assert best(file, "returns")[0] == f"{site.url}/help/"
