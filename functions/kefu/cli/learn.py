"""`kefu learn`: shows the progress of a run, and reports each page that was not learnt."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

from kefu.knowledge.learning import Outcome, Report
from kefu.knowledge.pages import Page


class Progress:
    """One line that shows how far the run is; nothing when the output is no terminal."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._shows = sys.stderr.isatty()

    def note(self, outcome: Outcome) -> None:
        self._counts[outcome.kind] += 1
        if self._shows:
            counts = ", ".join(f"{count} {kind}" for kind, count in self._counts.items())
            self._show(f"{counts} · {printable(outcome.url)[:60]}")

    def encoded(self, done: int, pages: int) -> None:
        if self._shows:
            self._show(f"adding the meaning of {pages} pages · {done / pages:.0%}")

    def _show(self, line: str) -> None:
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._shows:
            sys.stderr.write("\r\x1b[K")


def run(learn: Callable[[Progress], Report], output: str) -> int:
    """Run `learn` with the progress shown, and print its report. Returns the exit code."""
    progress = Progress()
    try:
        report = learn(progress)
    except OSError as error:
        progress.close()
        sys.stderr.write(f"kefu: {error}\n")
        return 1
    progress.close()
    print_problems(report)
    if not report.pages:
        sys.stderr.write("kefu: no page was learnt.\n")
        return 1
    if report.is_too_small:
        sys.stderr.write(
            f"kefu: only {report.pages} of the last run's {report.before} pages were found, so "
            f"{output} was kept. To start anew, remove it first.\n"
        )
        return 3
    new = sum(one.kind == "learnt" for one in report.outcomes)
    sys.stdout.write(
        f"{output}: {report.pages} pages, {new} of them read now, in {report.passages} passages, "
        f"{report.file / 1e6:.1f} MB.\n"
    )
    return 0


def print_problems(report: Report) -> None:
    titles = {"failed": "Failed", "kept": "Failed, the last text is used", "skipped": "Skipped"}
    for kind, title in titles.items():
        chosen = [one for one in report.outcomes if one.kind == kind]
        if chosen:
            sys.stdout.write(f"{title}: {len(chosen)}\n")
        for one in chosen:
            sys.stdout.write(f"  {printable(one.url)}  {printable(one.reason)}\n")


def show(page: Page | None, reason: str) -> int:
    """Print the text that is kept of a page."""
    if page is None:
        sys.stderr.write(f"kefu: {printable(reason)}\n")
        return 1
    sys.stdout.write(f"{printable(page.title)}\n\n")
    for block in page.blocks:
        mark = "#" * block.level + " " if block.level else ""
        sys.stdout.write(f"{mark}{printable(block.text)}\n")
    return 0


def printable(text: str) -> str:
    """The text without characters that could control the terminal, except line ends."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
