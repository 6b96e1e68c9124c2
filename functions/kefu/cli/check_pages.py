"""`kefu learn --check`: prints what an owner should look at in the learnt pages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kefu.bootstrap.learn import checked_file
from kefu.knowledge.checking import AMONG, MAX_LOST_SHARE, Doubt, Findings
from kefu.knowledge.learning import LearningReport
from kefu.terminal.clean import clean, one_line

FAILED_CHECK = 4
"""The exit code if too many pages do not find themselves."""

_SHOWN = 40
"""Lines of a list."""
_WIDTH = 120


def check_pages(path: Path, report: LearningReport) -> int:
    """Check the file, and print each page in doubt. Returns the exit code."""
    found = checked_file(path)
    share = len(found.lost) / max(1, found.pages)
    sys.stdout.write(
        f"Check: {found.pages - len(found.lost)} of {found.pages} pages are found by their title, "
        f"{found.headings - len(found.missed)} of {found.headings} headings find their page "
        f"(among {AMONG} passages).\n"
    )
    for title, doubts in _lists(found, report).items():
        _print(title, doubts)
    if not found.is_sound:
        sys.stderr.write(
            f"kefu: {share:.1%} of the pages do not find themselves; "
            f"{MAX_LOST_SHARE:.0%} are allowed.\n"
        )
    return 0 if found.is_sound else FAILED_CHECK


def _lists(found: Findings, report: LearningReport) -> dict[str, Sequence[Doubt]]:
    left_out = [one for one in report.outcomes if one.kind == "skipped"]
    same = [one for one in left_out if one.reason.startswith("is the same page")]
    empty = [one for one in left_out if "no text" in one.reason]
    return {
        "Pages that their title does not find": found.lost,
        "Headings that do not find their page": found.missed,
        "Passages that no question reached": found.unreached,
        "Pages under several addresses": [Doubt(one.url, one.reason) for one in same],
        "Pages that are nearly equal to another": found.near,
        "Pages without text": [Doubt(one.url, one.reason) for one in empty],
        "Lines of many pages, kept once": found.shared,
        "Lines of many pages, left out as menus": found.menus,
        "Parts of pages to look at": found.notes,
    }


def _print(title: str, doubts: Sequence[Doubt]) -> None:
    if doubts:
        sys.stdout.write(f"{title}: {len(doubts)}\n")
    for one in doubts[:_SHOWN]:
        pages = f" (and {one.pages - 1} more)" if one.pages > 1 else ""
        sys.stdout.write(f"  {clean(one.page)}{pages}  {one_line(one.text, _WIDTH)}\n")
    if len(doubts) > _SHOWN:
        sys.stdout.write(f"  … and {len(doubts) - _SHOWN} more\n")
