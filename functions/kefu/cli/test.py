"""`kefu test`: asks a service the questions of a file and checks its answers."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

from kefu.cli.local_service import service_for_tests
from kefu.cli.tested_model import model_for_tests
from kefu.cli.tested_tools import (
    NEEDS_LIVE_TOOLS,
    needs_live_tools,
    problem_with_cases,
    visitor_in,
)
from kefu.errors import KefuError
from kefu.evaluation.ask import QuestionGate, ServiceChat
from kefu.evaluation.cases import Case, StoredAnswer, named_apart, needs_judge
from kefu.evaluation.comparison import LastRun, as_json, comparison_lines, last_run
from kefu.evaluation.given_results import GivenResults
from kefu.evaluation.judge import ModelJudge
from kefu.evaluation.markdown import markdown
from kefu.evaluation.questions import read
from kefu.evaluation.redteam import redteam
from kefu.evaluation.report import junit, line, part_lines, summary
from kefu.evaluation.results import Result
from kefu.evaluation.run import Plan, Roles, run_cases
from kefu.evaluation.source import WrongFile
from kefu.evaluation.stored import changed_cases
from kefu.evaluation.visitor import ModelVisitor
from kefu.settings import Settings
from kefu.terminal.clean import clean
from kefu.terminal.flags import WrongUse, problem_with_server, read_settings, wrong_use
from kefu.terminal.options import visitor_of
from kefu.terminal.progress import ProgressLine
from kefu.upstream.kefu_server import KefuServer, ServerVisitor


def run(options: argparse.Namespace) -> int:
    """Run the cases. Returns the exit code. Raises WrongUse."""
    settings = read_settings()
    found = _cases(options, settings)
    if not found:
        sys.stdout.write("No stored answer cites a page that has changed since.\n")
        return 0
    cases = [one for one in found if options.only in one.name or options.only in one.group]
    if not cases:
        raise WrongUse(f"no case has {options.only} in its name or group")
    if problem := problem_with_server(options.server, options.origin, options.user_token):
        raise WrongUse(problem)
    unknown = {*_presets(options)} - {*settings.presets, "", "default"}
    if unknown and not options.server:
        known = ", ".join(settings.presets) or "none"
        raise WrongUse(f"there is no preset {min(unknown)}; presets here: {known}")
    if problem := problem_with_cases(cases, settings, is_here=not options.server):
        raise WrongUse(f"{options.file}: {problem}")
    return _Run(options, settings, cases).run()


def _cases(options: argparse.Namespace, settings: Settings) -> list[Case]:
    if not (options.file or options.redteam or options.changed):
        raise WrongUse("name a file of questions, --redteam or --changed")
    with wrong_use(WrongFile):
        cases = read(Path(options.file)) if options.file else []
    if options.redteam:
        cases += redteam(has_judge=not settings.without_model)
        if settings.without_model:
            sys.stderr.write("kefu: without an API key there is no judge: rules alone decide.\n")
    if options.changed:
        with wrong_use(OSError, ValueError):
            cases += asyncio.run(changed_cases(settings))
    return named_apart(cases)


def _presets(options: argparse.Namespace) -> list[str]:
    """The presets to compare; "" is none."""
    return list(dict.fromkeys(one.strip() for one in (options.preset or "").split(",")))


class _Tested(NamedTuple):
    url: str
    visitor: ServerVisitor
    given: GivenResults | None = None
    """Gives the results of calls; None: the service calls its own tools, if it has any."""


class _Run:
    def __init__(
        self, options: argparse.Namespace, settings: Settings, cases: Sequence[Case]
    ) -> None:
        self._options = options
        self._settings = settings
        self._cases = cases
        self._plan = Plan(_presets(options), options.repeat, options.jobs)
        self._last: LastRun = {}
        self._results: list[Result] = []
        self._progress = ProgressLine()

    def run(self) -> int:
        options = self._options
        for name in filter(None, (options.junit, options.markdown, options.json)):
            # Opened first: no answers are paid for whose report cannot be written.
            _written(name, "", "a")
        if options.json:
            with wrong_use(WrongFile, ValueError, prefix=f"{options.json}: "):
                self._last = last_run(Path(options.json).read_text(encoding="utf-8"))
        started, code = time.monotonic(), 0
        try:
            asyncio.run(self._ask())
        except KeyboardInterrupt:
            code = 130
        self._progress.erase()
        self._report(time.monotonic() - started, is_whole=not code)
        return code or int(any(one.status in ("failed", "error") for one in self._results))

    async def _ask(self) -> None:
        async with AsyncExitStack() as stack:
            roles = await stack.enter_async_context(self._roles())
            tested = await stack.enter_async_context(self._tested())
            await _reach(tested.url)
            gate, settings = QuestionGate(), self._settings

            def new_chat(case: Case, preset: str) -> ServiceChat:
                stored = case.stored or StoredAnswer("", ())
                visitor = tested.visitor._replace(preset=preset or stored.preset)
                visitor = visitor_in(case, visitor, settings)
                return ServiceChat(tested.url, visitor, gate, tested.given, stored.history)

            await run_cases(self._chosen(), self._plan, new_chat, roles, self._done)

    @asynccontextmanager
    async def _tested(self) -> AsyncIterator[_Tested]:
        """The service to ask, which is started unless there is `--server`. Raises WrongUse."""
        options, settings = self._options, self._settings
        visitor = visitor_of(options, settings)
        if options.server:
            yield _Tested(options.server, visitor)
        elif not settings.tools:
            async with service_for_tests(settings) as local:
                yield _Tested(local.url, visitor)
        else:
            given = GivenResults(live=options.live_tools)
            async with given.serving() as address, service_for_tests(settings, address) as local:
                yield _Tested(local.url, visitor._replace(operator=local.operator), given)

    def _chosen(self) -> list[Case]:
        """The cases to run. The others are reported as skipped."""
        if not self._options.server or self._options.live_tools:
            return [*self._cases]
        skipped = [one for one in self._cases if needs_live_tools(one)]
        for case, preset in product(skipped, self._plan.presets):
            self._done(Result(case, (), preset, NEEDS_LIVE_TOOLS))
        return [one for one in self._cases if one not in skipped]

    @asynccontextmanager
    async def _roles(self) -> AsyncIterator[Roles]:
        """The roles that the cases need. Raises WrongUse if there is no model to play them."""
        expectations = [one for case in self._cases for one in case.expectations]
        has_judge = any(map(needs_judge, expectations))
        has_visitor = any(case.visitor for case in self._cases)
        if not (has_judge or has_visitor):
            yield Roles()
            return
        async with model_for_tests(self._settings, self._options.judge_model) as complete:
            judge = ModelJudge(complete) if has_judge else None
            yield Roles(judge, ModelVisitor(complete) if has_visitor else None)

    def _done(self, result: Result) -> None:
        self._results.append(result)
        self._progress.erase()
        sys.stdout.write(f"{clean(line(result, steps=self._options.steps))}\n")
        sys.stdout.flush()
        self._progress.show(f"{len(self._results)} of {self._total} …")

    @property
    def _total(self) -> int:
        return len(self._cases) * len(self._plan.presets)

    def _report(self, seconds: float, *, is_whole: bool) -> None:
        """Write the reports. After an interruption the JSON still has the last run."""
        presets = self._plan.presets
        results = sorted(self._results, key=lambda one: presets.index(one.preset))
        lines = [summary(results, seconds, self._total), *part_lines(results)]
        for one in ("", *lines, *comparison_lines(results, self._last)):
            sys.stdout.write(f"{clean(one)}\n")
        for name, text in (
            (self._options.junit, junit(results, seconds)),
            (self._options.markdown, markdown(results, self._last, seconds)),
            (self._options.json if is_whole else None, as_json(results, seconds)),
        ):
            if name:
                _written(name, text, "w")


def _written(name: str, text: str, mode: Literal["a", "w"]) -> None:
    try:
        with Path(name).open(mode, encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise WrongUse(f"{name}: {error.strerror}") from error


async def _reach(url: str) -> None:
    """Raises WrongUse if the address is not the address of a Kefu service."""
    server = KefuServer(url, ServerVisitor())
    try:
        if "upstream" not in await server.read("/health"):
            raise WrongUse(f"{url} is not a Kefu service")
    except KefuError as error:
        raise WrongUse(error.message) from error
    finally:
        await server.aclose()
