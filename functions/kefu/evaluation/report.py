"""Writes the results as text and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from xml.sax.saxutils import escape, quoteattr

from kefu.evaluation.results import AnsweredQuestion, Result
from kefu.evaluation.steps import step_lines
from kefu.evaluation.visitor import lines_of

_SHOWN_CHARS = 160
"""Characters of an answer that the report of a failure has."""
MARKS = {"passed": "PASS", "failed": "FAIL", "error": "ERROR", "skipped": "SKIP"}
_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}
_ILLEGAL_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow."""


def line(result: Result, *, steps: bool = False) -> str:
    """A line for the case, and a line for each failure of the first run that failed.

    `steps`: also the calls of tools of a case that passed.
    """
    runs = f", {result.passed}" if len(result.runs) > 1 else ""
    head = f"{MARKS[result.status]:<5}  {result.seconds:6.1f} s  {title(result)}{runs}"
    below = [
        *reasons(result),
        *_texts(result),
        *(_steps(result) if steps and result.status == "passed" else ()),
    ]
    return "\n".join([head, *(f"         {one}" for one in below)])


def title(result: Result) -> str:
    """The case, with the preset."""
    return f"{result.case.name} [{result.preset}]" if result.preset else result.case.name


def _texts(result: Result) -> Iterator[str]:
    """Both answers to a question of a real visitor, or the talk of a simulated one."""
    if result.case.stored:
        yield from lines_of([("before", result.case.stored.text), ("now", answer_now(result))])
    if result.case.visitor and result.runs:
        yield from lines_of(result.shown.talk)


def answer_now(result: Result) -> str:
    """The last answer of the run that is shown; "" without one."""
    answer = result.shown.asked[-1].answer if result.runs else None
    return answer.text if answer else ""


def _turn(result: Result, number: int) -> str:
    """What a line about a turn begins with; "" if there is only one."""
    has_turns = len(result.case.questions) > 1 or result.case.visitor
    return f"turn {number}: " if has_turns else ""


def _steps(result: Result) -> Iterator[str]:
    """The calls of tools, and the cards."""
    for number, one in enumerate(result.shown.asked, 1):
        for told in step_lines(one.answer.tools) if one.answer else ():
            yield f"{_turn(result, number)}{told}"


def reasons(result: Result) -> Iterator[str]:
    """Why a case was skipped, or the failures of its first run that failed."""
    if result.skipped:
        yield result.skipped
        return
    run, has_texts = result.shown, result.case.stored or result.case.visitor
    for number, one in enumerate(run.asked, 1):
        turn = _turn(result, number)
        if one.error:
            yield f"{turn}{one.error}"
        for failure in one.failures:
            yield f"{turn}{failure}"
        if one.failures and one.answer:
            yield from (f"{turn}{told}" for told in step_lines(one.answer.tools))
        if one.failures and not has_texts:
            yield f"{turn}answer: {_answer(one)}"
    yield from run.failures
    if run.error:
        yield run.error


def _answer(one: AnsweredQuestion) -> str:
    text = " ".join(one.answer.text.split()) if one.answer else ""
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def summary(results: Sequence[Result], seconds: float, total: int) -> str:
    """A line such as `3 passed, 1 failed in 4.2 s`."""
    count = {name: sum(one.status == name for one in results) for name in MARKS}
    parts = [f"{count['passed']} passed", f"{count['failed']} failed"]
    parts += [f"{count['error']} without an answer"] if count["error"] else []
    parts += [f"{count['skipped']} skipped"] if count["skipped"] else []
    parts += [f"{total - len(results)} not run"] if len(results) < total else []
    return f"{', '.join(parts)} in {seconds:.1f} s"


def part_lines(results: Sequence[Result]) -> Iterator[str]:
    """A line for each preset, if there are several, and for each group.

    Such as `injection [sales]: 38 of 40 passed`.
    """
    presets = list(dict.fromkeys(one.preset for one in results))
    for preset in presets if len(presets) > 1 else ():
        yield f"{preset}: {passed_cases(one for one in results if one.preset == preset)} passed"
    for group, preset in product(groups(results), presets):
        part = [one for one in results if (one.case.group, one.preset) == (group, preset)]
        yield f"{group}{f' [{preset}]' if preset else ''}: {passed_cases(part)} passed"


def groups(results: Iterable[Result]) -> list[str]:
    """The groups of cases, in order."""
    return list(dict.fromkeys(one.case.group for one in results if one.case.group))


def passed_cases(results: Iterable[Result]) -> str:
    """Such as `3 of 4`; without skipped cases."""
    run = [one.status for one in results if not one.skipped]
    return f"{run.count('passed')} of {len(run)}"


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
    head = f'<testcase classname="kefu" name={_attribute(title(result))}'
    head += f' time="{result.seconds:.3f}"'
    if result.status == "passed":
        told = escape(_legal("\n".join([*_texts(result), *_steps(result)])))
        return f"{head}><system-out>{told}</system-out></testcase>" if told else f"{head}/>"
    tag = _TAGS[result.status]
    lines = [*reasons(result), *_texts(result)]
    if len(result.runs) > 1:
        lines.insert(0, f"{result.passed} runs passed")
    text = escape(_legal("\n".join(lines)))
    return f"{head}><{tag} message={_attribute(lines[0])}>{text}</{tag}></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str) -> str:
    return _ILLEGAL_XML.sub("\ufffd", text)
