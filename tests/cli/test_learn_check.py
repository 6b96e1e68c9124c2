"""G32: `kefu learn --check` names the pages in doubt, over a site with planted faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.site import Answer, Site, html, served

FOOTER = "<footer><p>Call us at 55 12 34 56.</p></footer>"
ACCORDION = """<h3><button aria-expanded=false aria-controls=a>Can I cancel?</button></h3>
<div id=a hidden>Within a day of the order.</div>"""
FORM = "<form><p>The workshop repairs zips and soles.</p><label>Your shoe size</label></form>"
GBK = "<meta charset=gbk><title>退货</title><p>七天内可以无理由退货，运费由我们承担。"
NOTICE = "Dieser Inhalt ist noch nicht in deiner Sprache verfügbar."
TERMS = [f"Condition {n} of the sale says what holds on day {n} of it." for n in range(20)]


def check(site: Site, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "kefu", "learn", site.url, "--allow-private", "--check")
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as running:
        names = ["boots", "tents", "maps", "ropes", "lamps"]
        extra = ["cancel", "repair", "returns", "tents/", "empty", "terms", "old-terms"]
        pages = {
            name: html(name.title(), body=f"<p>All about {name}.</p>{FOOTER}") for name in names
        }
        pages["cancel"] = html("Cancelling", body=ACCORDION + FOOTER)
        pages["repair"] = html("Repairs", body=FORM + FOOTER)
        pages["returns"] = Answer(GBK.encode("gbk"), type="text/html")
        pages["tents/"] = pages["tents"]
        pages["empty"] = html("Nothing", body=FOOTER)
        lines = "".join(f"<p>{line}</p>" for line in TERMS)
        pages["terms"] = html("Terms", body=lines + FOOTER)
        pages["old-terms"] = html("Terms of 2019", body=lines + FOOTER)
        running.pages = {f"/{name}": page for name, page in pages.items()}
        running.pages["/"] = html("Shop", *names, *extra, body=f"<p>We sell all of it.</p>{FOOTER}")
        yield running


def lines_below(output: str, title: str, site: Site) -> list[str]:
    """The lines of a list, without the address of the site."""
    lines = iter(output.splitlines())
    next(line for line in lines if line.startswith(f"{title}: "))
    found = list[str]()
    for line in lines:
        if not line.startswith("  "):
            break
        found.append(line.strip().replace(site.url, ""))
    return found


def test_g32_each_planted_fault_is_named_with_its_address(site: Site, tmp_path: Path) -> None:
    done = check(site, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Check: 11 of 11 pages are found by their title" in done.stdout
    assert lines_below(done.stdout, "Pages under several addresses", site) == [
        "/tents/  is the same page as /tents"
    ]
    assert lines_below(done.stdout, "Pages that are nearly equal to another", site) == [
        "/terms  /old-terms (100% of the text)"
    ]
    assert lines_below(done.stdout, "Pages without text", site) == [
        "/empty  has no text of its own"
    ]
    assert lines_below(done.stdout, "Lines of many pages, kept once", site) == [
        "/ (and 11 more)  Call us at 55 12 34 56."
    ]
    assert sorted(lines_below(done.stdout, "Parts of pages to look at", site)) == [
        "/cancel  kept, shown by a click: Within a day of the order.",
        "/repair  kept, inside a form: The workshop repairs zips and soles. Your shoe size",
        "/repair  left out: Your shoe size",
        "/returns  read as gb18030",
    ]


@pytest.mark.slow
def test_g32_the_second_run_names_the_faults_of_unchanged_pages(site: Site, tmp_path: Path) -> None:
    first = check(site, tmp_path)
    second = check(site, tmp_path)
    assert "0 of them read now" in second.stdout
    parts = [output[output.index("Check: ") :] for output in (first.stdout, second.stdout)]
    assert parts[0] == parts[1]


def test_g32_a_site_whose_pages_do_not_find_themselves_fails(tmp_path: Path) -> None:
    """Twelve pages with one title and one text but for a word that is on all of them."""
    with served(Site()) as running:
        names = [f"p{number}" for number in range(12)]
        running.pages = {
            f"/{name}": html("Shop", body=f"<p>We sell things. {'Shop! ' * (20 + number)}</p>")
            for number, name in enumerate(names)
        }
        running.pages["/"] = html("Start", *names)
        done = check(running, tmp_path)
    assert done.returncode == 4, done.stdout
    assert "of the pages do not find themselves; 3% are allowed." in done.stderr
    assert len(lines_below(done.stdout, "Pages that their title does not find", running)) >= 7


@pytest.mark.slow
def test_g34_a_page_that_is_not_translated_yet_is_found_by_the_other_language(
    tmp_path: Path,
) -> None:
    """Starlight shows the text of the first language there, and no visitor lacks it."""
    names = ("boots", "tents", "maps")
    with served(Site()) as site:
        for name in names:
            head = f"""<link rel=alternate hreflang=en href=/{name}>
            <link rel=alternate hreflang=de href=/de/{name}>"""
            text = f"<p>All about {name} and how to use them.</p><h2>How to wash the {name}</h2>"
            page = html(name.title(), head=head, body=f"{text}<p>Wash them by hand.</p>")
            other = page.body.replace(b"lang=en>", b"lang=de>") + NOTICE.encode()
            site.pages |= {f"/{name}": page, f"/de/{name}": Answer(other)}
        site.pages["/"] = html("Shop", *names, body="<p>We sell all of it.</p>")
        done = check(site, tmp_path)
    assert "Check: 7 of 7 pages are found by their title" in done.stdout
    assert done.returncode == 0
