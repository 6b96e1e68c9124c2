"""Writes the results as Markdown, for a pull request or the summary of a job on GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from xml.sax.saxutils import escape

from kefu.evaluation.comparison import LastRun, comparison_lines, was
from kefu.evaluation.report import (
    MARKS,
    answer_now,
    groups,
    passed_cases,
    reasons,
    summary,
    title,
)
from kefu.evaluation.results import Result
from kefu.evaluation.visitor import lines_of

_MAX_CHARS = 60_000
"""Characters of the report. A comment on GitHub has at most 65,536."""
_ORDER = ("failed", "error", "passed", "skipped")
"""The order of the rows, by the worst result of a case."""


def markdown(results: Sequence[Result], last: LastRun, seconds: float) -> str:
    """A table of the groups and the cases, failures first, with a column for each preset."""
    presets = list(dict.fromkeys(one.preset for one in results))
    heads = [_head(preset, results) for preset in presets]
    lines = [f"**kefu test**: {summary(results, seconds, len(results))}", ""]
    lines += [f"{line}\n" for line in [*comparison_lines(results, last)][:1]]
    lines += [_row(["", "Case", *heads, "Reason"]), _row(["---"] * (len(presets) + 3))]
    lines += [_row(one) for one in _group_rows(results, presets)]
    lines += [_row(one) for one in _rows(results, presets, last)]
    return "\n".join(_cut([*lines, *_side_by_side(results), *_talks(results)])) + "\n"


def _cut(lines: Sequence[str]) -> list[str]:
    """The lines that a comment on GitHub can have, and how many more there are."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    kept = sum(end <= _MAX_CHARS for end in ends)
    more = [f"\n… and {len(lines) - kept} more"] if kept < len(lines) else []
    return [*lines[:kept], *more]


def _head(preset: str, results: Sequence[Result]) -> str:
    passed = passed_cases(one for one in results if one.preset == preset)
    return f"{_cell(preset)}: {passed} passed" if preset else "Runs passed"


def _rows(results: Sequence[Result], presets: Sequence[str], last: LastRun) -> Iterator[list[str]]:
    """The cases, without those of a group that passed."""
    cases = dict[str, dict[str, Result]]()
    for one in results:
        cases.setdefault(one.case.name, {})[one.preset] = one
    ordered = sorted(cases.items(), key=lambda one: _ORDER.index(_worst(one[1].values())))
    for name, found in ordered:
        if all(one.case.group and one.status == "passed" for one in found.values()):
            continue
        cells = [_runs(found[one], last) if one in found else "" for one in presets]
        told = [
            _cell(f"{one.preset}: {line}" if one.preset else line)
            for one in found.values()
            for line in reasons(one)
        ]
        yield [MARKS[_worst(found.values())], _cell(name), *cells, "<br>".join(told)]


def _group_rows(results: Sequence[Result], presets: Sequence[str]) -> Iterator[list[str]]:
    """A row for each group, whose cases that passed have no rows."""
    for group in groups(results):
        parts = [
            passed_cases(o for o in results if (o.case.group, o.preset) == (group, one))
            for one in presets
        ]
        yield ["", f"all of {_cell(group)}", *parts, ""]


def _side_by_side(results: Sequence[Result]) -> Iterator[str]:
    """A table of the questions of real visitors, with both answers."""
    asked = [(one, one.case.stored) for one in results if one.case.stored]
    if asked:
        yield from ("", "Questions that cited pages which have changed:", "")
        yield from (_row(["Question", "Before", "Now"]), _row(["---"] * 3))
    for one, stored in asked:
        preset = f" [{one.preset}]" if one.preset else ""
        cells = (one.case.questions[0].ask + preset, stored.text, answer_now(one))
        yield _row([*map(_cell, cells)])


def _talks(results: Sequence[Result]) -> Iterator[str]:
    """The talks of simulated visitors, each folded under its case."""
    for one in results:
        if one.case.visitor and one.runs:
            told = "<br>\n".join(map(_cell, lines_of(one.shown.talk)))
            head = escape(f"{MARKS[one.shown.status]}: {title(one)}")
            yield f"\n<details><summary>{head}</summary>\n\n{told}\n\n</details>"


def _worst(results: Iterable[Result]) -> str:
    return min((one.status for one in results), key=_ORDER.index)


def _runs(result: Result, last: LastRun) -> str:
    """Such as `3 of 5, was 5 of 5, 1.2 s`."""
    if result.skipped:
        return ""
    before = was(result, last)
    change = f", was {before}" if before else ""
    return f"{result.passed}{change}, {result.seconds:.1f} s"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Text of a model in a table: no markup of it takes effect, and nobody is mentioned."""
    plain = re.sub(r"([\\`*_\[\]|~#!])", r"\\\1", escape(" ".join(text.split())))
    return plain.replace("@", "@\u200b")
