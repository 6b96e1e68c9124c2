"""`kefu learn` in process, over a site that changes between its runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.bootstrap import learn as learn_module
from kefu.bootstrap.learn import Options, Shown, hosts, learn, show
from kefu.knowledge.learning import LearningReport
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


def learnt(source: str, file: Path) -> LearningReport:
    return learn([source], Options(file, private_hosts=hosts([source])), lambda _: None)


def found(file: Path, question: str) -> list[str]:
    opened = KnowledgeFile(file)
    try:
        return [one.text for one in opened.find(question, (), 6)]
    finally:
        opened.close()


@pytest.mark.slow
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


@pytest.mark.slow
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


CAFE = """<html lang=en><head><title>{0} | Café Lund</title></head><body>
<header><a href=/>Café Lund</a><nav><a href=/menu>Menu</a></nav></header>
<div class=menu><a href=/>Home</a> <a href=/cakes>Cakes</a> <a href=/contact>Contact</a></div>
<main><h1>{0}</h1><p>{1}</p></main>
<footer><h4>Opening hours</h4><p>We are open from Monday to Friday, 8 to 17.</p>
<p>Phone: <a href=tel:+4755123456>55 12 34 56</a></p><p><a href=/terms>Terms of sale</a></p>
<h4>Our cakes</h4><ul><li><a href=/cakes>All cakes</a></ul></footer></body></html>"""
CAFE_PAGES = {
    "index.html": ("Welcome", "We roast our own coffee in the old town."),
    "contact.html": ("Contact", "We are glad to hear from you."),
    **{
        f"cake{number}.html": (f"Cake {number}", f"This cake has {number} layers of cream.")
        for number in range(9)
    },
}


def cafe(root: Path, count: int) -> Path:
    folder = root / "cafe"
    folder.mkdir()
    for name, texts in list(CAFE_PAGES.items())[:count]:
        (folder / name).write_text(CAFE.format(*texts))
    if count > len(CAFE_PAGES):
        (folder / "empty.html").write_text(CAFE.format("", ""))
    return folder


@pytest.mark.parametrize("count", [12, 3, 1])
def test_g13_facts_in_the_footer_of_each_page_are_found(tmp_path: Path, count: int) -> None:
    file = tmp_path / "site.kefu"
    options = Options(file, "https://cafe.example")
    learn([str(cafe(tmp_path, count))], options, lambda _: None)
    assert "55 12 34 56" in found(file, "what is your phone number?")[0]
    assert "Monday to Friday" in found(file, "when are you open?")[0]
    assert "55 12 34 56" not in found(file, "a cake with 1 layers of cream")[0] or count == 1


def test_g13_the_lines_of_the_frame_are_one_page_at_the_start_address(tmp_path: Path) -> None:
    """Menus and headings above them are left out. The page is not counted as one of the site."""
    file = tmp_path / "site.kefu"
    report = learn([str(cafe(tmp_path, 12))], Options(file, "https://cafe.example"), lambda _: None)
    opened = KnowledgeFile(file)
    (shared,) = opened.find("what is your phone number?", (), 1)
    assert (shared.title, shared.url) == ("On every page", "https://cafe.example/index.html")
    assert (shared.heading, *shared.text.splitlines()) == (
        "Opening hours",
        "We are open from Monday to Friday, 8 to 17.",
        "Phone: 55 12 34 56",
    )
    assert report.pages == opened.facts.pages == len(opened.sources()) == 11
    opened.close()


def test_g13_a_page_whose_text_is_on_all_pages_is_not_counted_as_learnt(tmp_path: Path) -> None:
    report = learn(
        [str(cafe(tmp_path, 12))],
        Options(tmp_path / "site.kefu", "https://cafe.example"),
        lambda _: None,
    )
    assert [(one.url, one.reason) for one in report.outcomes if one.kind == "skipped"] == [
        ("https://cafe.example/empty.html", "has no text of its own")
    ]


def test_g13_a_line_of_a_shop_on_each_article_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    for number in range(40):
        text = f"<p>Boots number {number}.</p><p>Send it back free within 30 days.</p>"
        (folder / f"{number}.html").write_text(f"<title>Boots {number}</title>{text}")
    learn([str(folder)], Options(tmp_path / "site.kefu"), lambda _: None)
    assert "within 30 days" in found(tmp_path / "site.kefu", "can I send boots back?")[0]


def test_g13_each_language_has_the_lines_of_its_frame(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.html").write_text(CAFE.format(number, f"Cake {number}"))
        text = f"<main>第{number}种蛋糕</main><footer>营业时间：周一至周五</footer>"
        (folder / f"zh{number}.html").write_text(f"<html lang=zh><title>蛋糕{number}</title>{text}")
    learn([str(folder)], Options(tmp_path / "site.kefu"), lambda _: None)
    opened = KnowledgeFile(tmp_path / "site.kefu")
    titles = [opened.find(text, (), 1)[0].title for text in ("营业时间", "opening hours")]
    opened.close()
    assert titles == ["每个页面上", "On every page"]


def test_g13_show_says_what_the_file_has_of_a_page(tmp_path: Path) -> None:
    folder = cafe(tmp_path, 12)
    options = Options(tmp_path / "site.kefu", "https://cafe.example")
    alone = show(str(folder / "contact.html"), options)
    assert isinstance(alone, Shown)
    assert alone.others == 0
    learn([str(folder)], options, lambda _: None)
    shown = show(str(folder / "contact.html"), options)
    assert isinstance(shown, Shown)
    assert shown.own.title == "Contact"
    assert [one.text for one in shown.own.blocks] == ["Contact", "We are glad to hear from you."]
    assert [one.text for one in shown.shared][-1] == "Phone: 55 12 34 56"
    assert shown.others == 11


def outcomes(folder: Path, files: dict[str, str], *sources: str, base: str = "") -> set[str]:
    """Each outcome with its reason. Sources and places are below the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    named = [one if one.startswith("http") else str(folder / one) for one in sources]
    options = Options(folder / "site.kefu", base, hosts(named))
    report = learn(named, options, lambda _: None)
    return {
        f"{one.kind} {one.url} {one.reason}".replace(f"{folder}/", "").strip()
        for one in report.outcomes
    }


def test_files_of_the_same_name_in_two_folders_are_two_pages(tmp_path: Path) -> None:
    files = {"en/faq.md": "Questions.", "de/faq.md": "Fragen.", "more.md": "More."}
    assert outcomes(tmp_path, files, "en", "de", "more.md") == {
        "learnt en/faq.md",
        "learnt de/faq.md",
        "learnt more.md",
    }


def test_files_with_the_same_address_are_named(tmp_path: Path) -> None:
    written = "---\nurl: https://a.example/c\n---\nHats."
    files = {"help.md": "Boots.", "help/index.md": "Socks.", "c.md": written, "d.md": written}
    assert outcomes(tmp_path, files, ".", base="https://a.example") == {
        "learnt https://a.example/help",
        "skipped help.md has the same address as help/index.md",
        "learnt https://a.example/c",
        "skipped d.md has the same address as c.md",
    }


def test_a_file_that_is_read_twice_is_one_page(tmp_path: Path) -> None:
    assert outcomes(tmp_path, {"a/b.md": "Socks."}, "a", "a/b.md") == {"learnt b.md"}


def test_a_file_and_a_page_on_the_web_with_the_same_address_are_named(
    site: Site, tmp_path: Path
) -> None:
    site.pages["/"] = html("Shop")
    files = {"a.md": f"---\nurl: {site.url}/\n---\nBoots."}
    assert outcomes(tmp_path, files, "a.md", site.url) == {
        f"learnt {site.url}/",
        f"skipped {site.url}/ of {site.url} has the same address as a.md",
    }
    assert outcomes(tmp_path, files, site.url, "a.md") == {
        f"learnt {site.url}/",
        "skipped a.md has the same address as a page on the web",
    }


TAG = '<script src="https://chat.example/chat-widget.js" defer></script>'
BAKERY = {
    "": "<h1>Strand bakery</h1><p>Fresh bread since 1931.</p>",
    "contact": "<h1>Contact</h1><p>Phone 55 12 34 56. Strandgaten 4, Bergen.</p>",
    "jobs": "<h1>Jobs</h1><p>We look for a baker.</p>",
    **{
        f"cookies{number}": f"<div class='product product_cat-cookies'><h1>Cookie {number}</h1>"
        f"<p>With {number} nuts.</p><button>Add to cart</button></div>"
        for number in range(7)
    },
}
CHINESE = {
    "": "<h1>面包店</h1><p>每天早上七点开门，周日休息。</p>",
    "contact": "<h1>联系</h1><p>电话：010-12345678。地址：北京市朝阳区。</p>",
    "delivery": "<h1>配送</h1><p>三公里内免费送货。</p>",
}


@pytest.mark.parametrize(
    ("language", "bodies", "question", "answer"),
    [
        ("en", BAKERY, "what is your phone number", "55 12 34 56"),
        ("zh", CHINESE, "你们的电话是多少", "010-12345678"),
    ],
)
def test_d3_all_short_pages_with_the_widgets_tag_are_learnt(
    site: Site,
    tmp_path: Path,
    language: str,
    bodies: dict[str, str],
    question: str,
    answer: str,
) -> None:
    menu = "".join(f"<a href=/{path}>{path}</a> " for path in bodies)
    page = f"<html lang={language}><title>Bakery</title><body><nav>{menu}</nav><main>{{}}</main>"
    site.pages |= {
        f"/{path}": Answer((page.format(body) + TAG).encode()) for path, body in bodies.items()
    }
    report = learnt(site.url, tmp_path / "site.kefu")
    assert [one.reason for one in report.outcomes if one.kind != "learnt"] == []
    assert report.pages == len(bodies)
    assert answer in found(tmp_path / "site.kefu", question)[0]
