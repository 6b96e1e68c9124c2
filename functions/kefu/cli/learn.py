"""`kefu learn`: shows the progress of a run, and reports each page that was not learnt."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kefu.bootstrap.learn import Options, Shown, hosts, learn, meaning, show
from kefu.cli.check_pages import check_pages
from kefu.knowledge.learning import LearningReport, PageOutcome
from kefu.knowledge.pages import Block
from kefu.terminal.clean import clean, one_line
from kefu.terminal.flags import WrongUse, read_settings
from kefu.terminal.progress import ProgressLine

_SHOWN = 50
"""Pages with the same reason that are named."""


class _Counts:
    """Shows the numbers of pages, by their outcome."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self.progress = ProgressLine()

    def note(self, outcome: PageOutcome) -> None:
        self._counts[outcome.kind] += 1
        counts = ", ".join(f"{count} {kind}" for kind, count in self._counts.items())
        self.progress.show(f"{counts} · {one_line(outcome.url, 60)}")

    def encoded(self, done: int, pages: int) -> None:
        self.progress.show(f"adding the meaning of {pages} pages · {done / pages:.0%}")


def run(options: argparse.Namespace) -> int:
    """Learn the sources, or show one page. Returns the exit code. Raises WrongUse."""
    model = meaning() if options.meaning else None
    sources = options.sources or read_settings().knowledge_sources
    if not sources:
        raise WrongUse("name the address of a site, a folder or a file.")
    private = hosts(sources) if options.allow_private else frozenset()
    if options.pages < 1:
        raise WrongUse("--pages needs a number from 1.")
    chosen = Options(Path(options.output), options.url, private, model, options.pages)
    if options.show:
        return _show(show(sources[0], chosen))
    return _learn(sources, chosen, is_checked=options.check)


def _learn(sources: Sequence[str], options: Options, *, is_checked: bool) -> int:
    """Learn the sources with the progress shown, and print the report."""
    counts = _Counts()
    try:
        report = learn(sources, options, counts.note, counts.encoded)
    except OSError as error:
        counts.progress.erase()
        sys.stderr.write(f"kefu: {error}\n")
        return 1
    counts.progress.erase()
    _print_problems(report)
    if not report.pages:
        sys.stderr.write("kefu: no page was learnt.\n")
        return 1
    if not report.file:
        sys.stderr.write(
            f"kefu: only {report.pages} of the last run's {report.before} pages were found, so "
            f"{options.output} was kept. To start anew, remove it first.\n"
        )
        return 3
    new = sum(one.kind == "learnt" for one in report.outcomes)
    sys.stdout.write(
        f"{options.output}: {report.pages} pages, {new} of them read now, in {report.passages} "
        f"passages, {report.file / 1e6:.1f} MB.\n"
    )
    if report.lost_meaning:
        sys.stdout.write("The meanings of the last run were dropped: they need --meaning again.\n")
    return check_pages(options.output, report) if is_checked else 0


def _print_problems(report: LearningReport) -> None:
    titles = {
        "failed": "Failed",
        "kept": "Failed, the last text is used",
        "skipped": "Skipped",
        "learnt": "Learnt, but look at it",
        "unchanged": "Unchanged, but look at it",
    }
    for kind, title in titles.items():
        chosen = [one for one in report.outcomes if one.kind == kind and one.reason]
        if chosen:
            sys.stdout.write(f"{title}: {len(chosen)}\n")
        shown = Counter[str]()
        for one in chosen:
            shown[one.reason] += 1
            if shown[one.reason] <= _SHOWN:
                sys.stdout.write(f"  {clean(one.url)}  {clean(one.reason)}\n")
        for reason, count in shown.items():
            if count > _SHOWN:
                sys.stdout.write(f"  … and {count - _SHOWN} more: {clean(reason)}\n")


def _show(found: Shown | str) -> int:
    """Print the text of a page as the file of learnt pages has it, or would have it."""
    if isinstance(found, str):
        sys.stderr.write(f"kefu: {clean(found)}\n")
        return 1
    sys.stdout.write(f"{clean(found.own.title)}\n\n{_lines(found.own.blocks)}")
    if found.shared:
        sys.stdout.write(f"\nOn many pages, kept once:\n{_lines(found.shared)}")
    if not found.others:
        sys.stderr.write("kefu: learn the site first to see what its pages share.\n")
    return 0


def _lines(blocks: Sequence[Block]) -> str:
    marks = ("#" * block.level + " " if block.level else "" for block in blocks)
    return "".join(
        f"{mark}{clean(block.text)}\n" for mark, block in zip(marks, blocks, strict=True)
    )
