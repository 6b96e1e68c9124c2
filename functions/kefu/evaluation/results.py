"""The results of cases: of each case some runs, and of each run the answers with their failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kefu.evaluation.cases import Case, CaseQuestion
from kefu.evaluation.checks import ServiceAnswer
from kefu.evaluation.visitor import Message


class AnsweredQuestion(NamedTuple):
    """One question with its result."""

    question: CaseQuestion
    answer: ServiceAnswer | None
    """None: there was no answer."""
    failures: Sequence[str]
    error: str = ""
    """Why there is no answer."""


class CaseRun(NamedTuple):
    """One chat of a case. After an error the later questions are not asked."""

    asked: Sequence[AnsweredQuestion]
    failures: Sequence[str] = ()
    """Those of the whole talk with a simulated visitor."""
    error: str = ""
    """Why the talk ended early."""

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `error` if a question has no answer."""
        if self.error or any(one.error for one in self.asked):
            return "error"
        return "failed" if self.failures or any(one.failures for one in self.asked) else "passed"

    @property
    def talk(self) -> list[Message]:
        """All messages, in order."""
        messages = list[Message]()
        for one in self.asked:
            messages.append(("visitor", one.question.ask))
            messages += [("assistant", one.answer.text)] if one.answer else []
        return messages

    @property
    def seconds(self) -> float:
        return sum(one.answer.seconds for one in self.asked if one.answer)


class PassedRuns(NamedTuple):
    """The number of a case's runs that passed, and of all of its runs."""

    passed: int
    of: int

    @property
    def rate(self) -> float:
        """The share that passed; there must be runs."""
        return self.passed / self.of

    def __str__(self) -> str:
        return f"{self.passed} of {self.of}"


class Result(NamedTuple):
    """The runs of one case with one preset."""

    case: Case
    runs: Sequence[CaseRun]
    preset: str = ""
    skipped: str = ""
    """Why the case was not run; "" if it was."""

    @property
    def passed(self) -> PassedRuns:
        return PassedRuns(sum(one.status == "passed" for one in self.runs), len(self.runs))

    @property
    def status(self) -> str:
        """`passed` if enough runs passed, `skipped`; else `error` if a question has no answer,
        or `failed`.
        """
        if self.skipped:
            return "skipped"
        if self.passed.rate >= self.case.pass_rate:
            return "passed"
        return "error" if any(one.status == "error" for one in self.runs) else "failed"

    @property
    def shown(self) -> CaseRun:
        """The run for a report: the first that did not pass, if there is one."""
        return next((one for one in self.runs if one.status != "passed"), self.runs[0])

    @property
    def seconds(self) -> float:
        """The mean of the runs."""
        return sum(one.seconds for one in self.runs) / len(self.runs) if self.runs else 0.0
