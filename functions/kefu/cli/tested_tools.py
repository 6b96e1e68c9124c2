"""Compares the tools that a file of questions names with those of the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kefu.evaluation.questions import Case, CaseQuestion
from kefu.settings import Settings
from kefu.settings.tool_references import unknown_tool
from kefu.settings.tools import names_of

NEEDS_LIVE_TOOLS = (
    "a running service calls its own tools: --live-tools runs this case, without the given results"
)


def needs_live_tools(case: Case) -> bool:
    """Whether a running service could change something, or does not have the given results."""
    return any(one.results or one.says_yes for one in case.questions)


def problem_with_tools(cases: Sequence[Case], settings: Settings) -> str:
    """What is wrong with the names of tools in the cases; "" if nothing is."""
    tables = settings.tools
    known = names_of(tables)
    for case in cases:
        for question in case.questions:
            for key, name in _names(question):
                if name not in known:
                    return f"{case.name}: {key}: {unknown_tool(name, known)}"
                if key == "results" and name in tables and tables[name].kind == "built-in":
                    return f"{case.name}: results: {name} is Kefu's own, and runs in tests, too."
    return ""


def _names(question: CaseQuestion) -> Iterator[tuple[str, str]]:
    expected, approve = question.expected, question.approve
    yield from (("results", name) for name in question.results)
    if expected.called and not isinstance(expected.called, bool):
        yield from (("called", one.name) for one in expected.called)
    yield from (("not_called", name) for name in expected.not_called)
    if approve and not isinstance(approve, bool):
        yield from (("approve", name) for name in approve)
