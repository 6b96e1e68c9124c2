"""Writes the results as text, as JUnit XML and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from kefu.evaluation.run import AnsweredQuestion, Result
from kefu.evaluation.steps import step_lines

_SHOWN_CHARS = 160
"""Characters of an answer that the report of a failure has."""
_MARKS = {"passed": "PASS", "failed": "FAIL", "error": "ERROR", "skipped": "SKIP"}
_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}
_ILLEGAL_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow."""


def line(result: Result, *, steps: bool = False) -> str:
    """A line for the case, and a line for each of its failures.

    `steps`: also the calls of tools of a case that passed.
    """
    head = f"{_MARKS[result.status]:<5}  {result.seconds:6.1f} s  {result.case.name}"
    below = [*_reasons(result), *(_steps(result) if steps and result.status == "passed" else ())]
    return "\n".join([head, *(f"         {one}" for one in below)])


def _steps(result: Result) -> Iterator[str]:
    """The calls of tools, and the cards."""
    several = len(result.case.questions) > 1
    for number, one in enumerate(result.asked, 1):
        for told in step_lines(one.answer.tools) if one.answer else ():
            yield f"turn {number}: {told}" if several else told


def _reasons(result: Result) -> Iterator[str]:
    if result.skipped:
        yield result.skipped
    several = len(result.case.questions) > 1
    for number, one in enumerate(result.asked, 1):
        turn = f"turn {number}: " if several else ""
        if one.error:
            yield f"{turn}{one.error}"
        for failure in one.failures:
            yield f"{turn}{failure}"
        if one.failures and one.answer:
            yield from (f"{turn}{told}" for told in step_lines(one.answer.tools))
        if one.failures:
            yield f"{turn}answer: {_answer(one)}"


def _answer(one: AnsweredQuestion) -> str:
    text = " ".join(one.answer.text.split()) if one.answer else ""
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def summary(results: Sequence[Result], seconds: float, total: int) -> str:
    """The last line, such as `3 passed, 1 failed in 4.2 s`."""
    count = {name: sum(one.status == name for one in results) for name in _MARKS}
    parts = [f"{count['passed']} passed", f"{count['failed']} failed"]
    parts += [f"{count['error']} without an answer"] if count["error"] else []
    parts += [f"{count['skipped']} skipped"] if count["skipped"] else []
    parts += [f"{total - len(results)} not run"] if len(results) < total else []
    return f"{', '.join(parts)} in {seconds:.1f} s"


def junit(results: Sequence[Result], seconds: float) -> str:
    """JUnit XML, which GitHub, GitLab and Jenkins show."""
    failed = sum(one.status == "failed" for one in results)
    errors = sum(one.status == "error" for one in results)
    skipped = sum(one.status == "skipped" for one in results)
    counts = f'tests="{len(results)}" failures="{failed}" errors="{errors}" skipped="{skipped}"'
    counts += f' time="{seconds:.3f}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites><testsuite name="kefu test" {counts}>',
        *map(_testcase, results),
        "</testsuite></testsuites>\n",
    ]
    return "\n".join(lines)


def _testcase(result: Result) -> str:
    head = f'<testcase classname="kefu" name={_attribute(result.case.name)}'
    head += f' time="{result.seconds:.3f}"'
    if result.status == "passed":
        told = escape(_legal("\n".join(_steps(result))))
        return f"{head}><system-out>{told}</system-out></testcase>" if told else f"{head}/>"
    tag = _TAGS[result.status]
    reasons = list(_reasons(result))
    text = escape(_legal("\n".join(reasons)))
    return f"{head}><{tag} message={_attribute(reasons[0])}>{text}</{tag}></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    return _ILLEGAL_XML.sub("\ufffd", text)


def markdown(results: Sequence[Result], seconds: float) -> str:
    """A table, failures first; GitHub shows it in the summary of a job."""
    rows = sorted(results, key=lambda one: one.status in ("passed", "skipped"))
    lines = [f"**kefu test**: {summary(results, seconds, len(results))}", ""]
    lines += ["| | Case | Time | Reason |", "|---|---|---|---|"]
    for one in rows:
        reasons = "<br>".join(_cell(reason) for reason in _reasons(one))
        lines.append(
            f"| {_MARKS[one.status]} | {_cell(one.case.name)} | {one.seconds:.1f} s | {reasons} |"
        )
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text of a model in a table: no markup of it takes effect."""
    return re.sub(r"([\\`*_\[\]|~#!])", r"\\\1", escape(" ".join(text.split())))
