"""Runs all cases against a service, some at a time, and compares the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from kefu.errors import KefuError
from kefu.evaluation.ask import ServiceChat
from kefu.evaluation.cases import Case, CaseQuestion
from kefu.evaluation.checks import Judge, ServiceAnswer, failures
from kefu.evaluation.steps import given_failures

Asked = Callable[[Case, str], ServiceChat]
"""Opens a chat for a case, with a preset of the service; "" for none."""


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

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `error` if a question has no answer."""
        if any(one.error for one in self.asked):
            return "error"
        return "failed" if any(one.failures for one in self.asked) else "passed"

    @property
    def seconds(self) -> float:
        return sum(one.answer.seconds for one in self.asked if one.answer)


class Result(NamedTuple):
    """The runs of one case with one preset."""

    case: Case
    runs: Sequence[CaseRun]
    preset: str = ""
    skipped: str = ""
    """Why the case was not run; "" if it was."""

    @property
    def passed(self) -> int:
        """How many runs passed."""
        return sum(one.status == "passed" for one in self.runs)

    @property
    def rate(self) -> float:
        """The share of the runs that passed; there must be runs."""
        return self.passed / len(self.runs)

    @property
    def status(self) -> str:
        """`passed` if enough runs passed, `skipped`; else `error` if a question has no answer,
        or `failed`.
        """
        if self.skipped:
            return "skipped"
        if self.rate >= self.case.pass_rate:
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


class Plan(NamedTuple):
    """How often, and with which presets, each case is run."""

    presets: Sequence[str] = ("",)
    repeat: int = 1
    jobs: int = 1
    """Cases that run at the same time."""


async def run_cases(
    cases: Sequence[Case],
    plan: Plan,
    new_chat: Asked,
    judge: Judge | None,
    done: Callable[[Result], None],
) -> None:
    """Run the cases. `done` gets each result as soon as it is known."""
    waiting = product(cases, plan.presets)

    async def work() -> None:
        for case, preset in waiting:
            runs = [await _run(case, new_chat(case, preset), judge) for _ in range(plan.repeat)]
            done(Result(case, runs, preset))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(plan.jobs, len(cases) * len(plan.presets))):
            group.create_task(work())


async def _run(case: Case, chat: ServiceChat, judge: Judge | None) -> CaseRun:
    asked = list[AnsweredQuestion]()
    try:
        for question in case.questions:
            asked.append(await _answered(question, chat, judge))
            if asked[-1].error:
                break
    finally:
        await chat.aclose()
    return CaseRun(asked)


async def _answered(
    question: CaseQuestion, chat: ServiceChat, judge: Judge | None
) -> AnsweredQuestion:
    try:
        answer = await chat.ask(question)
    except KefuError as error:
        return AnsweredQuestion(question, None, (), error.message)
    given = list(given_failures(answer.tools, question))
    try:
        failed = await failures(answer, question.expected, judge)
    except KefuError as error:
        return AnsweredQuestion(
            question, answer, given, f"the judge gave no verdict: {error.message}"
        )
    return AnsweredQuestion(question, answer, [*given, *failed])
