"""S1, S2: what an odd page or server does, it does to that page alone."""

from __future__ import annotations

import asyncio
import base64
import functools
import gzip
import zlib
from collections.abc import Iterator
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from kefu.bootstrap.learn import Options, hosts, learn
from kefu.knowledge.learning import PageOutcome, State
from kefu.stores.sqlite.knowledge.last_run import read_back
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from kefu.upstream.crawl.crawl import Crawler
from kefu.upstream.crawl.fetch import MAX_PAGE_BYTES, Fetched, Fetcher, Refused
from kefu.upstream.public_web import may_have_pages
from tests.fakes.files import SITEMAP, pdf, word
from tests.fakes.site import Answer, Site, html, served

AGENT = "Kefu/1"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def zipped(body: bytes, coding: str = "gzip") -> Answer:
    return Answer(body, coding=coding)


@functools.cache
def odd() -> dict[str, tuple[Answer, str]]:
    """The answer of each page, and the reason why it is left out. Every worker imports this module,
    and one of them needs these, whose compression takes a second.
    """
    twice = gzip.compress(gzip.compress(b"<p>" + bytes(2 * MAX_PAGE_BYTES)))
    return {
        "port": (
            Answer(b"", 302, location="http://127.0.0.1:99999/"),
            "leads to an address that is",
        ),
        "bracket": (Answer(b"", 302, location="http://["), "leads to an address that is"),
        "label": (
            Answer(b"", 302, location=f"http://{'a' * 64}.example/"),
            "leads to another site",
        ),
        "twice": (zipped(twice, "gzip, gzip"), "compressed as gzip, gzip"),
        "deflate": (zipped(zlib.compress(b"<p>hi"), "deflate"), "compressed as deflate"),
        "bomb": (zipped(gzip.compress(bytes(100 << 20))), "larger than 5 MB"),
        "many": (zipped(gzip.compress(bytes(3 << 20)) * 2), "larger than 5 MB"),
        "parts": (zipped(gzip.compress(b"") * 101), "compressed in more than 100 parts"),
        "bad": (zipped(b"\x1f\x8b\x08 not gzip"), "its compression is damaged"),
        "short": (
            zipped(gzip.compress(b"<p>A page</p>" * 99)[:-20]),
            "its compression is cut short",
        ),
        "wordy": (Answer(word()[:-3000], type=WORD), "not a readable Word file"),
        "pdf": (Answer(pdf([["a"]])[:-400], type="application/pdf"), "not a readable PDF"),
        "csv": (Answer(b"a,b\n", type="text/csv"), "a CSV file needs the columns"),
    }


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as running:
        running.pages |= {f"/{name}": answer for name, (answer, _) in odd().items()}
        running.pages["/"] = html("Shop", "base", "canonical", "zipped", *odd())
        running.pages["/base"] = html("Base", "zipped", head='<base href="http://[">')
        running.pages["/canonical"] = html("C", head='<link rel=canonical href="http://[x">')
        parts = html("Zipped", "inner").body.partition(b"<ul>")
        running.pages["/zipped"] = zipped(b"".join(map(gzip.compress, parts)) + bytes(9))
        running.pages["/inner"] = html("Inner")
        yield running


async def crawled(site: Site) -> dict[str, PageOutcome]:
    fetcher = Fetcher(AGENT, lambda _: True)
    try:
        found = await Crawler(f"{site.url}/", fetcher, AGENT, {}, lambda _: None).run()
    finally:
        await fetcher.aclose()
    return {one.url.removeprefix(site.url): one for one in found}


async def test_s1_odd_pages_are_lines_of_the_report_and_the_others_are_learnt(site: Site) -> None:
    found = await crawled(site)
    learnt = {path for path, one in found.items() if one.kind == "learnt"}
    assert learnt == {"/", "/base", "/canonical", "/inner", "/zipped"}
    for name, (_, reason) in odd().items():
        assert found[f"/{name}"].kind in {"failed", "skipped"}
        assert found[f"/{name}"].reason.startswith(reason), name


@pytest.mark.parametrize(
    "body",
    [SITEMAP[:-20], SITEMAP[:20] + b"\x00\xff" + SITEMAP[22:]],
    # Some releases of pytest put the bytes into the name, and these have the time in them.
    ids=["cut short", "damaged"],
)
async def test_s1_a_damaged_sitemap_is_a_line_of_the_report(site: Site, body: bytes) -> None:
    address = f"{site.url}/sitemap.xml.gz"
    site.pages["/robots.txt"] = Answer(f"Sitemap: {address}\nSitemap: http://[".encode())
    site.pages["/sitemap.xml.gz"] = Answer(body, type="application/gzip")
    found = await crawled(site)
    assert found["/sitemap.xml.gz"].kind == "failed"
    assert found["/sitemap.xml.gz"].reason.startswith("cannot be read (")
    assert found["http://["].reason == "not a valid address"
    assert found["/zipped"].kind == "learnt"


class Odd(Fetcher):
    """Fails at one page as nobody has foreseen."""

    async def get(self, url: str, *rest: Any, **more: Any) -> Fetched:
        if url.endswith("/zipped"):
            raise RuntimeError("nobody knows")
        return await super().get(url, *rest, **more)


async def test_s1_a_failure_that_nobody_has_foreseen_is_a_line_of_the_report(site: Site) -> None:
    fetcher = Odd(AGENT, lambda _: True)
    known: dict[str, State] = {f"{site.url}/zipped": {"etag": "x"}}
    found = await Crawler(f"{site.url}/", fetcher, AGENT, known, lambda _: None).run()
    await fetcher.aclose()
    kept = next(one for one in found if one.url.endswith("/zipped"))
    assert kept[1:3] == ("kept", "RuntimeError: nobody knows: its last text is kept")
    assert sum(one.kind == "learnt" for one in found) == 3


async def test_s1_a_start_address_that_is_none_is_a_line_of_the_report() -> None:
    for start in ("http://[", "http://127.0.0.1:99999/", "http:///", "http://127.0.0.1:x/"):
        fetcher = Fetcher(AGENT, lambda _: True)
        found = await Crawler(start, fetcher, AGENT, {}, lambda _: None).run()
        await fetcher.aclose()
        assert [one.kind for one in found] == ["skipped"], found


@pytest.mark.parametrize("type", ["text/html", "text/plain", "text/markdown"])
async def test_pages_are_decoded_as_header_meta_or_bytes_say(site: Site, type: str) -> None:
    """Knowledge 4. A guess is a remark in the report."""
    text = "退货政策：七天内可以无理由退货，运费由我们承担。" * 5
    wrap = f"<h1>{text}</h1><p>{text}</p>" if type == "text/html" else text
    meta = "<meta charset=gb2312>" if type == "text/html" else ""
    site.pages = {
        "/": html("Shop", "header", "meta", "neither"),
        "/header": Answer(wrap.encode("gbk"), type=f'{type}; Charset="GBK"'),
        "/meta": Answer((meta + wrap).encode("gbk"), type=type),
        "/neither": Answer(wrap.encode("big5", "ignore"), type=type),
    }
    found = await crawled(site)
    for name in ("header", "meta"):
        page = found[f"/{name}"].page
        assert page
        assert {block.text for block in page.blocks} == {text}
    assert found["/header"].reason == ""
    assert bool(found["/meta"].reason) is not bool(meta)
    assert found["/neither"].reason.startswith("names no encoding that fits, and was read as ")


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("10.0.0.1", True),
        ("127.0.0.1", True),
        ("192.168.1.9", True),
        ("100.64.0.1", True),
        ("fd12::1", True),
        ("::1", True),
        ("93.184.216.34", True),
        ("169.254.169.254", False),
        ("::ffff:169.254.169.254", False),
        ("168.63.129.16", False),
        ("100.100.100.200", False),
        ("192.0.0.192", False),
        ("224.0.0.251", False),
        ("fe80::1", False),
        ("ff02::fb", False),
        ("fd00:ec2::254", False),
    ],
)
def test_s6_metadata_and_multicast_are_no_private_sites(address: str, may: bool) -> None:
    assert may_have_pages(ip_address(address)) is may


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "100.100.100.200"])
async def test_s6_a_named_host_with_metadata_is_refused(host: str) -> None:
    fetcher = Fetcher(AGENT, private=hosts([f"http://{host}/", "docs"]))
    with pytest.raises(Refused, match="is not a public address"):
        await fetcher.get(f"http://{host}/latest/", {}, lambda _: "")
    await fetcher.aclose()


async def test_s6_a_private_host_is_read_only_if_it_was_named(site: Site) -> None:
    with served(Site()) as inner:
        inner.pages["/"] = html("Secret")
        other = f"{inner.url.replace('127.0.0.1', 'localhost')}/"
        site.pages["/"] = Answer(b"", 302, location=other)
        for sources, kinds in (([site.url], {"skipped"}), ([site.url, other], {"learnt"})):
            fetcher = Fetcher(AGENT, private=hosts(sources))
            found = await Crawler(f"{site.url}/", fetcher, AGENT, {}, lambda _: None).run()
            await fetcher.aclose()
            assert {one.kind for one in found} == kinds
            assert bool(inner.asked) is (kinds == {"learnt"})


def written(file: Path) -> str:
    """All that a file of learnt pages has."""
    with closing(KnowledgeFile(file)) as knowledge:
        return f"{read_back(file)}{knowledge.problems()}{file.read_bytes()!r}"


@pytest.mark.parametrize("feed", ["", "items.csv"])
async def test_s6_a_password_in_the_address_goes_to_its_host_and_nowhere_else(
    site: Site, tmp_path: Path, feed: str
) -> None:
    with served(Site()) as other:
        items = f"title,link,description\nTent,{site.url}/tent,For two.\n".encode()
        other.pages["/items.csv"] = Answer(items, type="text/csv")
        away = other.url.replace("http://", "http://other:s3cret@")
        site.pages = {
            "/": html("Shop", "a", "away", "gone", f"{site.url}/b"),
            "/a": html("A"),
            "/b": html("B"),
            "/away": Answer(b"", 302, location=f"{away}/"),
            "/items.csv": Answer(b"", 302, location=f"{away}/items.csv"),
            "/robots.txt": Answer(b"", 302, location=f"{away}/robots.txt"),
        }
        start = f"{site.url.replace('http://', 'http://staging:s3cret@')}/{feed}"
        file, notes = tmp_path / "site.kefu", list[PageOutcome]()
        options = Options(file, private_hosts=hosts([start, other.url]))
        reports = [await asyncio.to_thread(learn, [start], options, notes.append) for _ in "12"]
        assert set(site.sign_ins) == {f"Basic {base64.b64encode(b'staging:s3cret').decode()}"}
        assert set(other.sign_ins) == {""}
    assert reports[1].pages == (1 if feed else 3)
    assert "s3cret" not in f"{reports}{notes}{written(file)}"
