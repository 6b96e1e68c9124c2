"""Keeps the results of a run as JSON, and compares the next run with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kefu.evaluation.report import title
from kefu.evaluation.results import AnsweredQuestion, CaseRun, PassedRuns, Result
from kefu.evaluation.source import WrongFile
from kefu.evaluation.steps import step_lines

LastRun = Mapping[tuple[str, str], PassedRuns]
"""By case and preset."""


def was(result: Result, last: LastRun) -> PassedRuns | None:
    """The runs of the case in the last run, if another share of them passed."""
    before = last.get((result.case.name, result.preset))
    return before if before and result.runs and before.rate != result.passed.rate else None


def comparison_lines(results: Sequence[Result], last: LastRun) -> Iterator[str]:
    """A sentence about the changes since the last run, and a line for each case that got worse."""
    if not last:
        return
    changed = [(one, before) for one in results if (before := was(one, last))]
    worse = [(one, before) for one, before in changed if before.rate > one.passed.rate]
    yield f"Since the last run: {len(worse)} worse, {len(changed) - len(worse)} better."
    for one, before in worse:
        yield f"Worse: {title(one)}, {before} before, {one.passed} now."


def last_run(text: str) -> LastRun:
    """The results in a file of `as_json`; none in an empty file. Raises WrongFile."""
    if not text.strip():
        return {}
    try:
        return {
            (one["case"], one["preset"]): PassedRuns(int(one["passed"]), len(one["runs"]))
            for one in json.loads(text)["results"]
            if one["runs"]
        }
    except (ValueError, LookupError, TypeError) as error:
        raise WrongFile("it is not a file that `kefu test --json` wrote") from error


def as_json(results: Sequence[Result], seconds: float) -> str:
    """The results with all answers, for programs and for the next run."""
    told = {"seconds": round(seconds, 3), "results": [_result(one) for one in results]}
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def _result(one: Result) -> dict[str, object]:
    return {
        "case": one.case.name,
        "preset": one.preset,
        "status": one.status,
        "passed": one.passed.passed,
        "pass_rate": one.case.pass_rate,
        "skipped": one.skipped,
        "runs": [_run(run) for run in one.runs],
    }


def _run(run: CaseRun) -> dict[str, object]:
    return {
        "status": run.status,
        "failures": list(run.failures),
        "error": run.error,
        "seconds": round(run.seconds, 3),
        "turns": [_turn(one) for one in run.asked],
    }


def _turn(one: AnsweredQuestion) -> dict[str, object]:
    answer = one.answer
    return {
        "ask": one.question.ask,
        "answer": answer.text if answer else None,
        "cites": [page.url or page.title for page in answer.pages or ()] if answer else [],
        "tools": list(step_lines(answer.tools)) if answer else [],
        "failures": list(one.failures),
        "error": one.error,
    }
