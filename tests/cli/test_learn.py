"""G1, G3: `kefu learn` and `kefu find` as child processes."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.stores.sqlite.knowledge.packed import unpacked
from tests.fakes.files import pdf, word
from tests.fakes.forked import kefu
from tests.fakes.site import Answer, Site, html, served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "help").mkdir(parents=True)
    (docs / "node_modules").mkdir()
    (docs / "index.md").write_text("# Our shop\n\nWe sell boots.\n")
    (docs / "help/returns.md").write_text("# Returns\n\nSend boots back within 30 days.\n")
    (docs / "faq.csv").write_text("question,answer\nDo you ship to Norway?,Yes.\n")
    (docs / "scan.pdf").write_bytes(b"%PDF-1.7 cut off")
    (docs / "node_modules/readme.md").write_text("# Not ours\n")
    return docs


def test_a_folder_is_learnt_and_found_with_links(folder: Path, tmp_path: Path) -> None:
    learnt = kefu("learn", "docs", "--url", "https://www.example.com/", folder=tmp_path)
    assert learnt.returncode == 0, learnt.stderr
    assert "scan.pdf  not a readable PDF" in learnt.stdout
    assert learnt.stdout.splitlines()[-1].startswith("site.kefu: 3 pages, 3 of them read now")
    found = kefu("find", "send boots back", folder=tmp_path)
    assert "[1] Returns" in found.stdout
    assert "https://www.example.com/help/returns" in found.stdout
    assert "matched: back, boot, send" in found.stdout


def test_g5_the_file_of_this_projects_docs_has_at_most_twice_the_size_of_their_text(
    tmp_path: Path,
) -> None:
    """G5: over a hundred real pages, in English and Chinese."""
    docs = Path(__file__).parents[2] / "docs"
    learnt = kefu("learn", str(docs), folder=tmp_path)
    assert learnt.returncode == 0, learnt.stderr
    with contextlib.closing(sqlite3.connect(tmp_path / "site.kefu")) as db:
        pages = [unpacked(body) for (body,) in db.execute("SELECT passages FROM page")]
    assert len(pages) > 100
    text = sum(len(part.text.encode()) for page in pages for part in page)
    assert (tmp_path / "site.kefu").stat().st_size <= 2 * text


@pytest.mark.slow
def test_meaning_finds_a_page_in_another_language(folder: Path, tmp_path: Path) -> None:
    """G17: `kefu find` needs no flag, because the file has the numbers."""
    command = [sys.executable, "-m", "kefu", "learn", "--meaning", "docs"]
    terminal, inside = os.openpty()
    learnt = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=inside, check=False
    )
    os.close(inside)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert learnt.returncode == 0, shown
    assert "3 learnt, 1 failed · " in shown
    assert shown.endswith("adding the meaning of 3 pages · 100%\r\x1b[K")
    found = kefu("find", "怎么把鞋退回去", folder=tmp_path)
    assert found.stdout.startswith("[1] Returns\n"), found.stdout
    kefu("learn", "docs", folder=tmp_path)
    assert kefu("find", "怎么把鞋退回去", folder=tmp_path).stdout == "Nothing was found.\n"


def test_a_reader_that_stops_reading_causes_no_error(folder: Path, tmp_path: Path) -> None:
    kefu("learn", "docs", folder=tmp_path)
    command = [sys.executable, "-m", "kefu", "find", "--jsonl"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        child.stdin.write(b'{"q": "Norway"}\n' * 9)
        child.stdin.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


def test_questions_in_lines_are_answered_in_lines(folder: Path, tmp_path: Path) -> None:
    """G20: each line of standard input is a question."""
    kefu("learn", "docs", folder=tmp_path)
    lines = [{"q": "Norway"}, {"q": "how long?", "before": [["boots back", "30 days"]]}, {"q": "x"}]
    answered = kefu("find", "--jsonl", folder=tmp_path, typed="\n".join(map(json.dumps, lines)))
    first, second, third = (json.loads(one)["found"] for one in answered.stdout.splitlines())
    assert (first[0]["page"], first[0]["url"]) == ("faq.csv", "")
    assert second[0]["page"] == "help/returns.md"
    assert third == []
    assert set(first[0]) == {"page", "url", "title", "heading", "text", "score"}
    wrong = kefu("find", "--jsonl", folder=tmp_path, typed='{"q": "Norway"}\n{"question": 1}\n')
    assert wrong.returncode == 2
    assert "line 2 is not a question" in wrong.stderr


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as running:
        names = ["Delivery", "Returns", "Sizes", "Gifts", "Hours"]
        running.pages["/"] = html("Shop", *names)
        running.pages |= {f"/{name}": html(name) for name in names}
        yield running


def test_a_run_that_lost_most_of_the_site_keeps_the_old_file(site: Site, tmp_path: Path) -> None:
    first = kefu("learn", site.url, "--allow-private", folder=tmp_path)
    assert first.returncode == 0, first.stdout
    assert "6 pages, 6 of them read now" in first.stdout
    old = (tmp_path / "site.kefu").read_bytes()
    hidden = html("Moved", head="<meta name=robots content=noindex>")
    site.pages |= dict.fromkeys([path for path in site.pages if path != "/"], hidden)
    second = kefu("learn", site.url, "--allow-private", folder=tmp_path)
    assert second.returncode == 3
    assert "only 1 of the last run's 6 pages were found" in second.stderr
    assert (tmp_path / "site.kefu").read_bytes() == old


@pytest.mark.slow
def test_a_site_most_of_whose_pages_have_no_text_of_their_own_is_learnt_again(
    tmp_path: Path,
) -> None:
    """A blog has more archives than articles. The run is compared before these are left out."""
    (tmp_path / "docs").mkdir()
    for name in "abcde":
        (tmp_path / f"docs/{name}.md").write_text("# Returns\n\nSend boots back.\n")
    for _ in range(2):
        learnt = kefu("learn", "docs", folder=tmp_path)
        assert (learnt.returncode, learnt.stderr) == (0, "")
        assert "site.kefu: 1 pages" in learnt.stdout


def test_the_text_that_is_kept_of_one_page_can_be_shown(site: Site, tmp_path: Path) -> None:
    shown = kefu("learn", "--show", f"{site.url}/Returns", "--allow-private", folder=tmp_path)
    assert shown.stdout.startswith("Returns\n\nThis page says")
    assert set(site.asked) == {"/Returns"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["learn"], 2, "name the address of a site"),
        (["learn", "none"], 1, "none does not exist"),
        (["learn", "http://127.0.0.1:9/"], 1, "no page was learnt"),
        (["find", "x"], 2, "site.kefu does not exist. Please make it with `kefu learn`."),
        (["find"], 2, "name a question"),
    ],
)
def test_wrong_use_is_answered_with_a_sentence(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    done = kefu(*arguments, folder=tmp_path)
    assert done.returncode == code
    assert message in done.stderr


def test_s1_what_cannot_be_read_is_named_and_the_rest_is_written(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "base.html").write_text("<base href='http://['><h1>Base</h1><a href=x>x</a>")
    (folder / "cut.docx").write_bytes(word()[:-3000])
    (folder / "odd.pdf").write_bytes(pdf([["Boots"]])[:300])
    (folder / "odd.csv").write_bytes(b'question,answer\n"' + b"a" * (5 << 20))
    learnt = kefu("learn", "docs", folder=tmp_path)
    assert learnt.returncode == 0, learnt.stderr
    assert learnt.stderr == ""
    assert "Failed: 3\n" in learnt.stdout
    assert "Skipped: 1\n" in learnt.stdout
    assert learnt.stdout.splitlines()[-1].startswith("site.kefu: 4 pages")


@pytest.mark.slow
def test_s2_a_body_that_is_packed_twice_takes_no_memory(tmp_path: Path) -> None:
    """Its limit of the address space is smaller than what the body unpacks to."""
    bomb = gzip.compress(gzip.compress(bytes(512 << 20)))
    assert len(bomb) < 5000
    with served(Site()) as site:
        site.pages["/"] = html("Shop", "bomb")
        site.pages["/bomb"] = Answer(bomb, coding="gzip, gzip")
        learn = [sys.executable, "-m", "kefu", "learn", "--allow-private", f"{site.url}/"]
        limited = ["sh", "-c", 'ulimit -v 500000; exec "$@"', "sh", *learn]
        learnt = subprocess.run(
            limited, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )
    assert learnt.returncode == 0, learnt.stderr
    assert "/bomb  compressed as gzip, gzip, which was not asked for" in learnt.stdout


LATIN = b"<meta charset=iso-8859-1><title>x</title><p>R\xfccksendung: vierzehn Tage.</p>"


def test_texts_that_are_not_utf_8_are_found_and_guesses_are_named(tmp_path: Path) -> None:
    """Knowledge 4, in a folder."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.txt").write_bytes("Öffnungszeiten: täglich geöffnet.".encode("latin-1"))
    (tmp_path / "docs/b.txt").write_bytes("退货政策：七天内可以无理由退货。".encode("gbk"))
    (tmp_path / "docs/c.html").write_bytes(LATIN)
    learnt = kefu("learn", "docs", folder=tmp_path)
    assert "Learnt, but look at it: 2\n  a.txt  names no encoding" in learnt.stdout
    assert "täglich geöffnet" in kefu("find", "Öffnungszeiten", folder=tmp_path).stdout
    assert "七天内" in kefu("find", "退货", folder=tmp_path).stdout
    assert "Rücksendung: vierzehn Tage" in kefu("find", "Rücksendung", folder=tmp_path).stdout


def test_a_page_with_damaged_characters_is_read_again(tmp_path: Path) -> None:
    """Knowledge 4. An older Kefu may have damaged them, and the server says "not modified"."""
    with served(Site()) as site:
        site.pages["/"] = html("Shop", "/damaged")
        site.pages["/damaged"] = html("Damaged", body="<p>R\ufffdcksendung</p>")
        for _ in range(2):
            kefu("learn", "--allow-private", f"{site.url}/", folder=tmp_path)
        assert (site.sent["/"], site.sent["/damaged"]) == (1, 2)


def test_s5_links_out_of_the_folder_are_skipped_and_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside/deep").mkdir(parents=True)
    (tmp_path / "outside/secret.md").write_text("# The secret password\n\nIt is swordfish.\n")
    (folder / "link.md").symlink_to("../outside/secret.md")
    (folder / "help/chain.md").symlink_to("../link.md")
    (folder / "linked").symlink_to("../outside")
    (folder / "inside.md").symlink_to("index.md")
    (folder / "shown").symlink_to("help")
    (folder / "gone.md").symlink_to("none.md")
    learnt = kefu("learn", "docs", folder=tmp_path)
    assert learnt.returncode == 0, learnt.stderr
    named = [line for line in learnt.stdout.splitlines() if "leads out of the folder" in line]
    assert [line.split()[0] for line in named] == ["help/chain.md", "link.md", "linked"]
    assert "inside.md  is the same page as index.md" in learnt.stdout
    assert "site.kefu: 3 pages" in learnt.stdout
    assert kefu("find", "swordfish", folder=tmp_path).stdout == "Nothing was found.\n"
    (tmp_path / "way").symlink_to("docs")
    assert "site.kefu: 3 pages" in kefu("learn", "way", folder=tmp_path).stdout
