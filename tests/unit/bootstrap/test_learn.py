"""`kefu learn` in process, over a site that changes between its runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.bootstrap import learn as learn_module
from kefu.bootstrap.learn import Options, learn
from kefu.knowledge.learning import Report
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from tests.fakes.changing_site import ChangingSite
from tests.fakes.site import Answer, Site, html, served

NIGHTS = 25


class Midnight:
    """The time of a run is in its file."""

    def now(self) -> float:
        return 1_800_000_000.0


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn_module, "SystemClock", Midnight)


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as running:
        yield running


def learnt(source: str, file: Path) -> Report:
    return learn([source], Options(file, allow_private=True), lambda _: None)


def found(file: Path, question: str) -> list[str]:
    opened = KnowledgeFile(file)
    try:
        return [one.text for one in opened.find(question, (), 6)]
    finally:
        opened.close()


def test_g11_a_nightly_run_gives_the_file_of_a_fresh_run(site: Site, tmp_path: Path) -> None:
    """Some 200 random edits: of texts, of lines on several pages, of links, titles and pages."""
    rng = random.Random(7)
    changing = ChangingSite(site, rng)
    nightly, fresh = tmp_path / "nightly.kefu", tmp_path / "fresh.kefu"
    saved = 0
    for night in range(NIGHTS):
        edits = [changing.edit() for _ in range(rng.randint(1, 15))]
        report = learnt(site.url, nightly)
        if report.is_too_small:
            nightly.unlink()
            learnt(site.url, nightly)
        saved += sum(one.kind == "unchanged" for one in report.outcomes)
        fresh.unlink(missing_ok=True)
        learnt(site.url, fresh)
        assert nightly.read_bytes() == fresh.read_bytes(), (night, edits)
    assert saved


def test_g11_a_new_sentence_on_some_pages_is_found_after_the_nightly_run(
    site: Site, tmp_path: Path
) -> None:
    names = [f"p{number}" for number in range(20)]
    site.pages["/"] = html("Shop", *names)
    site.pages |= {f"/{name}": html(name) for name in names}
    learnt(site.url, tmp_path / "site.kefu")
    closed = "<p>From 24 December our warehouse is closed.</p>"
    site.pages |= {
        f"/{name}": html(name, body=f"<p>About {name}.</p>{closed}") for name in names[:6]
    }
    learnt(site.url, tmp_path / "site.kefu")
    texts = found(tmp_path / "site.kefu", "is the warehouse closed in December?")
    assert sum("warehouse is closed" in text for text in texts) == 6


def test_g11_a_page_behind_one_that_fails_keeps_its_text(site: Site, tmp_path: Path) -> None:
    """No part of the site that could be read leads to it."""
    site.pages |= {
        "/": html("Shop", "more"),
        "/more": html("More", "deep"),
        "/deep": html("Deep", body="<p>Anchors are sold by weight.</p>"),
    }
    learnt(site.url, tmp_path / "site.kefu")
    site.pages["/more"] = Answer(b"", 503)
    report = learnt(site.url, tmp_path / "site.kefu")
    assert [one.kind for one in report.outcomes] == ["unchanged", "kept", "unchanged"]
    assert "Anchors" in found(tmp_path / "site.kefu", "anchors")[0]


def test_g11_a_page_that_nothing_leads_to_is_forgotten_unless_a_sitemap_failed(
    site: Site, tmp_path: Path
) -> None:
    names = ["a", "b", "c", "d"]
    site.pages["/"] = html("Shop", *names[:3])
    site.pages |= {f"/{name}": html(name) for name in names}
    listed = f"<urlset><url><loc>{site.url}/d</loc></url></urlset>"
    site.pages["/sitemap.xml"] = Answer(listed.encode(), type="text/xml")
    assert learnt(site.url, tmp_path / "site.kefu").pages == 5
    site.pages["/sitemap.xml"] = Answer(b"", 503)
    assert learnt(site.url, tmp_path / "site.kefu").pages == 5
    del site.pages["/sitemap.xml"]
    assert learnt(site.url, tmp_path / "site.kefu").pages == 4
