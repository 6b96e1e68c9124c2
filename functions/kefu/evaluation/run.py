"""Runs all cases against a service, some at a time, and compares the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from kefu.errors import KefuError
from kefu.evaluation.ask import ServiceChat
from kefu.evaluation.cases import Case, CaseQuestion, SimulatedVisitor
from kefu.evaluation.checks import Judge, ServiceAnswer, failures
from kefu.evaluation.results import AnsweredQuestion, CaseRun, Result
from kefu.evaluation.steps import ToolUse, click_failures, result_failures
from kefu.evaluation.visitor import Speak, lines_of

OpenChat = Callable[[Case, str], ServiceChat]
"""Opens a chat for a case, with a preset of the service; "" for none."""


class Roles(NamedTuple):
    """Who judges, and who plays visitors; None if no case needs it."""

    judge: Judge | None = None
    speak: Speak | None = None


class Plan(NamedTuple):
    """How often, and with which presets, each case is run."""

    presets: Sequence[str] = ("",)
    repeat: int = 1
    jobs: int = 1
    """Cases that run at the same time."""


async def run_cases(
    cases: Sequence[Case],
    plan: Plan,
    new_chat: OpenChat,
    roles: Roles,
    done: Callable[[Result], None],
) -> None:
    """Run the cases. `done` gets each result as soon as it is known."""
    waiting = product(cases, plan.presets)

    async def work() -> None:
        for case, preset in waiting:
            runs = [await _run(case, new_chat(case, preset), roles) for _ in range(plan.repeat)]
            done(Result(case, runs, preset))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(plan.jobs, len(cases) * len(plan.presets))):
            group.create_task(work())


async def _run(case: Case, chat: ServiceChat, roles: Roles) -> CaseRun:
    try:
        if case.visitor and roles.speak:
            return await _talk(case, case.visitor, chat, roles.judge, roles.speak)
        return CaseRun(await _questions(case, chat, roles.judge))
    finally:
        await chat.aclose()


async def _questions(case: Case, chat: ServiceChat, judge: Judge | None) -> list[AnsweredQuestion]:
    asked = list[AnsweredQuestion]()
    for question in case.questions:
        one = await _answered(question, chat, judge)
        clicks = click_failures(one.answer.tools.cards, question) if one.answer else ()
        asked.append(one._replace(failures=[*clicks, *one.failures]))
        if one.error:
            break
    return asked


async def _talk(
    case: Case, visitor: SimulatedVisitor, chat: ServiceChat, judge: Judge | None, speak: Speak
) -> CaseRun:
    [question] = case.questions
    run = CaseRun([])
    ask = question.ask
    while ask:
        one = await _answered(question._replace(ask=ask), chat, judge)
        run = run._replace(asked=[*run.asked, one])
        if one.error or len(run.asked) == visitor.messages:
            break
        try:
            ask = await speak(visitor, run.talk)
        except KefuError as error:
            return run._replace(error=f"the visitor wrote no message: {error.message}")
    if run.status == "error":
        return run
    whole = _whole(run, visitor)
    clicks = list(click_failures(whole.tools.cards, question))
    try:
        return run._replace(failures=[*clicks, *await failures(whole, visitor.expected, judge)])
    except KefuError as error:
        return run._replace(failures=clicks, error=_no_verdict(error))


def _whole(run: CaseRun, visitor: SimulatedVisitor) -> ServiceAnswer:
    """A talk as one answer: all texts, pages and calls, and the time of the slowest."""
    answers = [one.answer for one in run.asked if one.answer]
    steps = [step for one in answers for step in one.tools.steps]
    cards = [card for one in answers for card in one.tools.cards]
    return answers[-1]._replace(
        text="\n\n".join(one.text for one in answers),
        seconds=max(one.seconds for one in answers),
        pages=[page for one in answers for page in one.pages or ()],
        question=visitor.goal,
        tools=ToolUse(steps, cards),
        talk="\n".join(lines_of(run.talk)),
    )


async def _answered(
    question: CaseQuestion, chat: ServiceChat, judge: Judge | None
) -> AnsweredQuestion:
    try:
        answer = await chat.ask(question)
    except KefuError as error:
        return AnsweredQuestion(question, None, (), error.message)
    missing = list(result_failures(answer.tools))
    try:
        failed = await failures(answer, question.expected, judge)
    except KefuError as error:
        return AnsweredQuestion(question, answer, missing, _no_verdict(error))
    return AnsweredQuestion(question, answer, [*missing, *failed])


def _no_verdict(error: KefuError) -> str:
    return f"the judge gave no verdict: {error.message}"
