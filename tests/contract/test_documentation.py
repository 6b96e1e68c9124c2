"""Finding on documentation sites of up to 10,000 passages, and checking them."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from kefu.bootstrap.learn import checked_file
from kefu.knowledge.finding import PassageHit
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from tests.parts.documentation import (
    LEAST,
    SITES,
    found,
    headings,
    learn,
    mistyped,
    share_found,
    shortened,
    without_accents,
    written,
)
from tests.parts.plugin import installed_part

pytestmark = pytest.mark.slow

Learnt = Callable[[str], Path]
"""Learns a site or a file of the part once, and returns the file of learnt pages."""


@pytest.fixture(scope="module")
def part() -> Path:
    return installed_part("documentation")


@pytest.fixture(scope="module")
def learnt(part: Path, tmp_path_factory: pytest.TempPathFactory) -> Learnt:
    folder = tmp_path_factory.mktemp("documentation")

    def once(name: str) -> Path:
        file = folder / f"{name}.kefu"
        if not file.exists():
            learn(part / name, file)
        return file

    return once


@pytest.mark.parametrize("site", SITES)
def test_headings_asked_as_questions_find_their_pages(
    site: str, part: Path, learnt: Learnt
) -> None:
    """G19: also with one word less, and so not as a whole. G36: and with a typo."""
    file = KnowledgeFile(learnt(site))
    asked = headings(part / site)
    whole = share_found(file, asked)
    assert whole >= LEAST.get(site, 0.95)
    assert share_found(file, shortened(asked)) >= 0.8
    if typed := mistyped(asked):
        urls = {url for _, url in typed}
        right = [one for one in asked if one.url in urls]
        assert share_found(file, typed) >= share_found(file, right) - 0.05
    file.close()


def test_g36_vietnamese_without_accents_finds_its_pages(part: Path, learnt: Learnt) -> None:
    file = KnowledgeFile(learnt("handbook-vi"))
    asked = [one for one in headings(part / "handbook-vi") if without_accents([one]) != [one]]
    plain = without_accents(asked)
    assert len(asked) >= 100
    assert share_found(file, plain) >= share_found(file, asked) - 0.05
    file.close()


@pytest.mark.parametrize("site", SITES)
def test_g32_at_most_three_of_a_hundred_pages_do_not_find_themselves(
    site: str, learnt: Learnt
) -> None:
    found = checked_file(learnt(site))
    assert len(found.lost) <= 0.03 * found.pages, found.lost


@pytest.mark.parametrize("is_second", [False, True])
def test_g16_g36_written_questions_find_their_pages(learnt: Learnt, *, is_second: bool) -> None:
    """In other words than the pages', with the search words that a model may write."""
    asked, found_in = list[bool](), defaultdict[str, list[bool]](list)
    for site in SITES:
        file = KnowledgeFile(learnt(site))
        for one in written():
            if one.site == site and one.urls and one.is_second == is_second:
                result = found(file, one)
                found_in[one.words].append(result.with_search)
                asked += [result.is_asked] if one.words == "page" else []
        file.close()
    shares = {words: sum(hits) / len(hits) for words, hits in found_in.items()}
    assert shares["page"] >= 0.85
    assert shares["other"] >= 0.7
    assert sum(asked) <= len(asked) / 3


def test_k15_passages_of_a_manual_lead_to_their_pages(part: Path, learnt: Learnt) -> None:
    """A PDF of 10 MB with 300 pages: each counts as a page, so six of them are found."""
    file = KnowledgeFile(learnt("guide.pdf"))
    found = file.find("How do I reconcile an account with the bank statement?", (), 6)
    file.close()
    assert len({_sheet(one) for one in found}) >= 3
    assert any("Reconcil" in one.heading for one in found)
    assert all(one.url.rpartition("#page=")[2].isdigit() for one in found)


def _sheet(one: PassageHit) -> str:
    return one.url.rpartition("#")[2]


def test_g32_the_check_of_a_site_ends_with_zero(part: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kefu", "learn", str(part / "gnucash"), "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pages are found by their title" in done.stdout
