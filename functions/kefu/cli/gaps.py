"""`kefu gaps`: prints the questions without an answer, and the state of the learnt pages."""

from __future__ import annotations

import argparse
import asyncio
import csv
import sys
from datetime import UTC, datetime

from kefu.bootstrap.gaps import collected
from kefu.knowledge.gaps import OLD_SECONDS, Gaps
from kefu.terminal.clean import clean, one_line
from kefu.terminal.flags import read_settings, wrong_use


def run(options: argparse.Namespace) -> int:
    """Print the gaps. Returns the exit code. Raises WrongUse and StoreUnavailable."""
    with wrong_use(OSError, ValueError):
        found = asyncio.run(collected(read_settings()))
    return _print_csv(found) if options.csv else _print_gaps(found)


def _print_gaps(found: Gaps) -> int:
    say = sys.stdout.write
    say(f"{len(found.gaps)} questions without an answer, in {found.chats} chats\n")
    for gap in found.gaps:
        reasons = ", ".join(gap.reasons)
        say(f"  {gap.times} × {one_line(gap.question, 200)}\n")
        say(f"      {reasons}, last {_time(gap.last.at)}, chat {gap.last.session}\n")
        say("".join(f"      “{clean(comment)}”\n" for comment in gap.comments))
    if found.uncited:
        say(f"{len(found.uncited)} pages that no answer cited\n")
        say("".join(f"  {clean(page)}\n" for page in found.uncited))
    if found.problems:
        say(f"{len(found.problems)} pages that failed in the last run\n")
        say("".join(f"  {clean(page)}  {clean(why)}\n" for page, why in found.problems))
    hours = found.age / 3600
    say(f"The pages were learnt {hours:.0f} hours ago.\n")
    if found.age > OLD_SECONDS:
        sys.stderr.write("kefu: the pages are older than 3 days: please run `kefu learn`.\n")
        return 1
    return 0


def _print_csv(found: Gaps) -> int:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("count", "question", "reasons", "last", "chat", "comments"))
    for gap in found.gaps:
        row = (gap.question, "; ".join(gap.reasons), _time(gap.last.at), gap.last.session)
        writer.writerow((gap.times, *map(_cell, (*row, "; ".join(gap.comments)))))
    return 0


def _cell(text: str) -> str:
    """A text that no spreadsheet runs as a formula: visitors write the questions."""
    plain = " ".join(clean(text).split())
    return f"'{plain}" if plain.startswith(("=", "+", "-", "@")) else plain


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
