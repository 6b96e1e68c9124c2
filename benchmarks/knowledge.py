"""Compares the search in learnt pages with FTS5's own tokenizer and with bm25s.

The pages are made with a fixed seed: in English from words with the frequencies of Zipf's law, and
from random words; in Chinese from a text in texts/. Each question is made from one passage: in
English from its words, and from other forms of its random words; in Chinese from parts of a
sentence. Times are processor times, so that a busy machine does not affect them. "of FTS5" is the
99th percentile of a question's time as a multiple of that of one query of FTS5 for the same terms
in the same file.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from benchmarks.context import PEERS_PYTHON
from benchmarks.processes import ROOT
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.passages import passages
from kefu.knowledge.terms import question_terms
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.parts import documentation
from tests.parts.fetch import folder_of

RELATED = ROOT / "functions/kefu/knowledge/related_words.txt"
SIZES = (250, 1_000, 10_000, 50_000)
LEARNT = (250, 10_000)
QUESTIONS = 200
RECALL_PAGES = 1_000
LEARN = """
import sys, time
from pathlib import Path
from kefu.__main__ import main
sys.argv[1:1] = ["learn"]
assert main() == 0
status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
print(time.process_time(), status.split()[0])
"""
"""Its peak of memory is its own: that of `getrusage` begins with the memory of this process."""

INSTALL = "bm25s is not installed; for its line: make peers"

Find = Callable[[str], Sequence[str]]
"""The addresses of the pages that are found for a question, best first."""


class Site(NamedTuple):
    pages: list[PageText]
    questions: list[tuple[str, str]]
    """A question, and the address of the page that answers it."""


def site(count: int, language: str) -> Site:
    rng = random.Random(count)
    name = "chinese" if language == "zh" else "english"
    text = (ROOT / f"benchmarks/texts/{name}.txt").read_text(encoding="utf-8")
    make = _chinese if language == "zh" else _english
    pages, questions = list[PageText](), list[tuple[str, str]]()
    for number in range(count):
        url = f"https://example.com/{number}"
        blocks = list[Block]()
        for section in range(5):
            body, question = make(rng, text)
            blocks += [Block(make(rng, text)[0][:30], 2, f"s{section}"), Block(body)]
            if len(questions) <= number * QUESTIONS // count:
                questions.append((question, url))
        pages.append(PageText(url, make(rng, text)[0][:20], blocks, language))
    return Site(pages, questions)


@cache
def _words() -> list[str]:
    """The words that have related words, because these make a search longer."""
    words = [line.split()[0] for line in RELATED.read_text(encoding="ascii").splitlines()]
    random.Random(0).shuffle(words)
    return words


@cache
def _zipf() -> list[float]:
    return list(accumulate(1 / (rank + 2.7) for rank in range(len(_words()))))


def _english(rng: random.Random, _: str) -> tuple[str, str]:
    made = [_word(rng) for _ in range(6)]
    chosen = [*rng.choices(_words(), cum_weights=_zipf(), k=110), *made]
    rng.shuffle(chosen)
    asked = [f"{word}s" for word in made[:2]] + rng.sample(chosen, 3)
    return " ".join(chosen), " ".join(asked)


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("bdfgklmnprtv") + rng.choice("aeiou") for _ in range(3)) + "n"


def _chinese(rng: random.Random, text: str) -> tuple[str, str]:
    signs = "".join(text.split())
    pieces = [signs[at : at + 12] for at in rng.choices(range(len(signs) - 12), k=24)]
    rare = "".join(chr(rng.randrange(0x4E00, 0x9000)) for _ in range(8))
    body = "，".join([*pieces[:12], pieces[0] + rare + pieces[1], *pieces[12:]])
    return body, f"{rare[1:5]}是什么？{pieces[3][:4]}"


def knowledge(largest: int) -> str:
    times = f"{'p50 ms':>9}{'p99 ms':>9}{'of FTS5':>9}{'loop ms':>9}"
    names = f"{'processor s':>12}{'file/text':>11}{times}"
    lines = [f"{'learnt pages':32}{names}"]
    with tempfile.TemporaryDirectory(prefix="kefu-knowledge-") as folder:
        lines += [
            _size_line(Path(folder), site(count, "en"), f"{count} in English")
            for count in SIZES
            if count <= largest
        ]
        lines.append(_size_line(Path(folder), site(1_000, "zh"), "1000 in Chinese"))
        lines += ["", f"{'kefu learn, a folder of Markdown':32}{'processor s':>12}{'MiB':>11}"]
        lines += [
            _learning_line(Path(folder), count) for count in LEARNT if count <= max(largest, 250)
        ]
        lines += ["", f"{'found among the first 5 of 1,000':32}{'English':>12}{'Chinese':>11}"]
        sites = [site(RECALL_PAGES, language) for language in ("en", "zh")]
        openers = {"Kefu": lambda one: _kefu(one, Path(folder)), "FTS5 unicode61": _unicode61}
        for name, opened in openers.items():
            cells = [_recall(one, opened(one)) for one in sites]
            lines.append(f"{name:32}{cells[0]:>12.3f}{cells[1]:>11.3f}")
        lines.append(_bm25s_line(sites, Path(folder)))
        lines += ["", *_documentation_lines(Path(folder))]
    return "\n".join(lines)


def _size_line(folder: Path, made: Site, name: str) -> str:
    started = time.process_time()
    size = write(folder / "site.kefu", Run([Learnt(page, {}) for page in made.pages], [], 0.0))
    spent = time.process_time() - started
    file = KnowledgeFile(folder / "site.kefu")
    times = _times(made, lambda question: file.find(question, (), 6))
    with contextlib.closing(sqlite3.connect(folder / "site.kefu")) as db:
        plain = _times(made, lambda question: _plain(db, question_terms(question, file.languages)))
    file.close()
    p50, p99, fts5 = times[len(times) // 2], _p99(times), _p99(plain)
    held = asyncio.run(_held(folder / "site.kefu", made))
    return (
        f"{name:32}{spent:>12.1f}{size.file / size.text:>11.2f}{p50:>9.2f}{p99:>9.2f}"
        f"{p99 / fts5:>9.2f}{held:>9.1f}"
    )


def _p99(times: Sequence[float]) -> float:
    return times[int(len(times) * 0.99)]


def _plain(db: sqlite3.Connection, terms: Sequence[str]) -> list[tuple[int]]:
    """One query of FTS5 for the same terms in the same index."""
    match = " OR ".join(f'"{term}"' for term in terms)
    sql = "SELECT rowid FROM term WHERE term MATCH ? ORDER BY rank LIMIT 40"
    return db.execute(sql, (match,)).fetchall()


def _times(made: Site, ask: Callable[[str], object]) -> list[float]:
    """The processor time of each question in ms, shortest first, with the file in memory."""
    times = list[float]()
    for question, _ in made.questions:
        ask(question)
        started = time.thread_time()
        ask(question)
        times.append(1000 * (time.thread_time() - started))
    return sorted(times)


async def _held(path: Path, made: Site) -> float:
    """The most processor time of the whole process between two turns of the event loop, in ms."""
    gaps = list[float]()
    knowledge = ReloadingKnowledge(path, time.monotonic, print)

    async def tick() -> None:
        while True:
            before = time.process_time()
            await asyncio.sleep(0)
            gaps.append(1000 * (time.process_time() - before))

    ticking = asyncio.create_task(tick())
    for question, _ in made.questions:
        await knowledge.find(question, (), 6)
    ticking.cancel()
    await knowledge.aclose()
    return max(gaps)


def _learning_line(folder: Path, count: int) -> str:
    """The command as a process of its own: all of its processor time and its largest memory."""
    docs = folder / f"docs-{count}"
    docs.mkdir()
    for number, page in enumerate(site(count, "en").pages):
        lines = [f"# {page.title}", *("#" * one.level + " " + one.text for one in page.blocks)]
        (docs / f"{number}.md").write_text("\n\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-c", LEARN, str(docs), "-o", str(folder / "learnt.kefu")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (folder / "learnt.kefu").unlink()
    spent, memory = done.stdout.splitlines()[-1].split()
    return f"{f'{count} pages':32}{float(spent):>12.1f}{int(memory) / 1024:>11.0f}"


def _recall(made: Site, find: Find) -> float:
    return sum(url in find(question)[:5] for question, url in made.questions) / len(made.questions)


def _documentation_lines(folder: Path) -> list[str]:
    part = folder_of("documentation")
    if part is None:
        return ["The documentation sites are not in .parts/; for their lines: make parts"]
    names = f"{'found':>12}{'a word less':>13}{'a typo':>9}{'mean ms':>9}"
    lines = [f"{'headings of documentation':32}{names}"]
    answers = defaultdict[tuple[str, bool], list[documentation.Found]](list)
    for name in documentation.SITES:
        documentation.learn(part / name, folder / "docs.kefu")
        file, asked = KnowledgeFile(folder / "docs.kefu"), documentation.headings(part / name)
        started = time.thread_time()
        whole = documentation.share_found(file, asked)
        mean = 1000 * (time.thread_time() - started) / len(asked)
        shorter = documentation.share_found(file, documentation.shortened(asked))
        typed = documentation.mistyped(asked)
        typo = f"{documentation.share_found(file, typed):.3f}" if typed else ""
        lines.append(f"{name:32}{whole:>12.3f}{shorter:>13.3f}{typo:>9}{mean:>9.2f}")
        for one in documentation.written():
            if one.site == name:
                answers[one.words, one.is_second].append(documentation.found(file, one))
        file.close()
        (folder / "docs.kefu").unlink()
    names = f"{'found':>12}{'asks model':>13}{'found then':>13}"
    lines += ["", f"{'questions that somebody wrote':32}{names}"]
    titles = {"page": "in the pages' words", "other": "in other words", "none": "without an answer"}
    for (words, is_second), all_found in sorted(answers.items()):
        shares = [sum(one) / len(all_found) for one in zip(*all_found, strict=True)]
        name = f"{titles[words]}{', later ones' if is_second else ''}"
        lines.append(f"{name:32}{shares[0]:>12.3f}{shares[1]:>13.3f}{shares[2]:>13.3f}")
    return lines


def _kefu(made: Site, folder: Path) -> Find:
    path = folder / "recall.kefu"
    write(path, Run([Learnt(page, {}) for page in made.pages], [], 0.0))
    file = KnowledgeFile(path)
    return lambda question: [one.page for one in file.find(question, (), 5)]


def _unicode61(made: Site) -> Find:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE p USING fts5(url UNINDEXED, text)")
    db.executemany("INSERT INTO p VALUES (?, ?)", _rows(made))

    def find(question: str) -> list[str]:
        words = "".join(c if c.isalnum() else " " for c in question).split()
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT url FROM p WHERE p MATCH ? ORDER BY rank LIMIT 5"
        return [url for (url,) in db.execute(sql, (match,))]

    return find


def _rows(made: Site) -> list[tuple[str, str]]:
    return [(page.url, one.text) for page in made.pages for one in passages(page)]


def _bm25s_line(sites: Sequence[Site], folder: Path) -> str:
    if not PEERS_PYTHON.exists():
        return INSTALL
    cells = []
    for made in sites:
        asked = folder / "asked.json"
        asked.write_text(json.dumps({"rows": _rows(made), "questions": made.questions}))
        command = [str(PEERS_PYTHON), "-m", "benchmarks.trials.bm25s", str(asked)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return INSTALL
        cells.append(float(done.stdout.splitlines()[-1]))
    return f"{'bm25s':32}{cells[0]:>12.3f}{cells[1]:>11.3f}"


if __name__ == "__main__":
    print(knowledge(int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]))
