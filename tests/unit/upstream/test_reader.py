"""S1, S2: bytes that no parser was made for end the process that reads them, and nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from kefu.knowledge.extract.files import Unreadable
from kefu.upstream.reader import PageReader
from tests.fakes.files import CSV, HTML, MARKDOWN, ROBOTS, SITEMAP, damaged, pdf, word

URL = "https://www.example.com/page"
GOOD = b"<h1>Boots</h1><p>We sell boots.</p>"
NESTED = b"<div>" * 800_000

Read = Callable[[PageReader, bytes], object]


def file(end: str) -> Read:
    return lambda reader, data: reader.page(data, end, URL)


KINDS: dict[str, tuple[bytes, Read]] = {
    "html": (HTML, file(".html")),
    "pdf": (pdf([["Boots", "We sell boots."]] * 2), file(".pdf")),
    "word": (word(), file(".docx")),
    "csv": (CSV, file(".csv")),
    "markdown": (MARKDOWN, file(".md")),
    "text": (MARKDOWN, file(".txt")),
    "sitemap": (SITEMAP, lambda reader, data: reader.sitemap(data)),
    "robots": (ROBOTS, lambda reader, data: reader.allows(data, "Kefu/1", URL)),
    "rules": (ROBOTS, lambda reader, data: reader.rules(data, "Kefu/1")),
}


@pytest.fixture
def reader() -> Iterator[PageReader]:
    with closing(PageReader()) as running:
        yield running


def assert_reads(reader: PageReader) -> None:
    assert [one.text for one in reader.page(GOOD, ".html", URL)[0].page.blocks] == [
        "Boots",
        "We sell boots.",
    ]


def failures(reader: PageReader, kind: str, count: int) -> list[str]:
    """The reasons for damaged files that could not be read."""
    good, read = KINDS[kind]
    read(reader, good)
    reasons = list[str]()
    for data in damaged(good, count):
        try:
            read(reader, data)
        except Unreadable as error:
            reasons.append(str(error))
    return reasons


@pytest.mark.parametrize("kind", KINDS)
def test_s1_a_damaged_file_is_read_or_refused_with_a_reason(reader: PageReader, kind: str) -> None:
    reasons = failures(reader, kind, 400)
    assert reasons or kind not in {"pdf", "word", "sitemap"}
    assert all(reasons)
    assert_reads(reader)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_s1_thousands_of_damaged_files_end_no_run(reader: PageReader, kind: str) -> None:
    assert all(failures(reader, kind, 4000))
    assert_reads(reader)


@pytest.mark.slow
def test_s2_a_page_that_takes_too_much_of_the_processor_is_refused() -> None:
    with closing(PageReader(cpu_seconds=1)) as reader:
        with pytest.raises(Unreadable, match="cannot be read in 1 s"):
            reader.page(NESTED, ".html", URL)
        assert_reads(reader)


@pytest.mark.slow
def test_s2_a_page_that_takes_too_long_is_refused() -> None:
    with closing(PageReader(seconds=3)) as reader:
        with pytest.raises(Unreadable, match="cannot be read in 3 s, or"):
            reader.page(NESTED, ".html", URL)
        assert_reads(reader)


def test_s2_a_page_that_takes_too_much_memory_is_refused() -> None:
    with closing(PageReader(memory=100 << 20)) as reader:
        with pytest.raises(Unreadable, match=r"memory|its parser ended|Can't parse"):
            reader.page(b"<b>" * 1_500_000, ".html", URL)
        assert_reads(reader)


def test_s1_a_parser_that_crashes_is_one_failure(reader: PageReader) -> None:
    assert_reads(reader)
    assert reader._process
    os.kill(reader._process.pid, signal.SIGSEGV)
    reader._process.wait()
    with pytest.raises(Unreadable, match="its parser ended with SIGSEGV"):
        reader.page(GOOD, ".html", URL)
    assert_reads(reader)


def test_one_process_reads_many_pages(reader: PageReader) -> None:
    assert_reads(reader)
    first = reader._process
    for _ in range(20):
        assert_reads(reader)
    assert reader._process is first


def test_a_page_comes_back_as_it_was_read(reader: PageReader) -> None:
    read, _ = reader.page(HTML, ".html", "https://www.example.com/help/x")
    assert read.page.title == "Boots"
    assert read.page.blocks[0].level == 1
    assert read.page.blocks[0].anchor == "boots"
    assert read.canonical == "https://www.example.com/boots"
    assert read.links == ("https://www.example.com/", "https://www.example.com/help/returns?a=1")
