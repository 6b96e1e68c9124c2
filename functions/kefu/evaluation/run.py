"""Runs all cases against a service, some at a time, and compares the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from kefu.errors import KefuError
from kefu.evaluation.ask import ServiceChat
from kefu.evaluation.checks import ServiceAnswer, failures
from kefu.evaluation.questions import Case, CaseQuestion
from kefu.evaluation.steps import tool_failures

Judge = Callable[[str, str, str], Awaitable[str]]
"""Takes a rubric, a question and its answer. Returns why the answer fails; empty for a good answer.

Raises a KefuError if the model gives no verdict.
"""


class AnsweredQuestion(NamedTuple):
    """One question with its result."""

    question: CaseQuestion
    answer: ServiceAnswer | None
    """None: there was no answer."""
    failures: Sequence[str]
    error: str = ""
    """Why there is no answer."""


class Result(NamedTuple):
    """The result of one case. After an error the later questions of a case are not asked."""

    case: Case
    asked: Sequence[AnsweredQuestion]
    skipped: str = ""
    """Why the case was not run; "" if it was."""

    @property
    def status(self) -> str:
        """`passed`, `failed`, `skipped`, or `error` if a question has no answer."""
        if self.skipped:
            return "skipped"
        if any(one.error for one in self.asked):
            return "error"
        return "failed" if any(one.failures for one in self.asked) else "passed"

    @property
    def seconds(self) -> float:
        return sum(one.answer.seconds for one in self.asked if one.answer)


async def run_cases(
    cases: Sequence[Case],
    new_chat: Callable[[Case], ServiceChat],
    judge: Judge | None,
    jobs: int,
    done: Callable[[Result], None],
) -> None:
    """Run the cases, `jobs` at a time. `done` gets each result as soon as it is known."""
    waiting = iter(cases)

    async def work() -> None:
        for case in waiting:
            chat = new_chat(case)
            try:
                done(Result(case, await _asked(case, chat, judge)))
            finally:
                await chat.aclose()

    async with asyncio.TaskGroup() as group:
        for _ in range(min(jobs, len(cases))):
            group.create_task(work())


async def _asked(case: Case, chat: ServiceChat, judge: Judge | None) -> list[AnsweredQuestion]:
    results: list[AnsweredQuestion] = []
    for question in case.questions:
        try:
            answer = await chat.ask(question)
        except KefuError as error:
            results.append(AnsweredQuestion(question, None, (), error.message))
            return results
        failed, trouble = list(failures(answer, question.expected)), ""
        failed += tool_failures(answer.tools, question)
        if judge and question.expected.judge:
            try:
                reason = await judge(question.expected.judge, question.ask, answer.text)
                failed += [f"judge: {reason}"] if reason else []
            except KefuError as error:
                trouble = f"the judge gave no verdict: {error.message}"
        results.append(AnsweredQuestion(question, answer, failed, trouble))
    return results
