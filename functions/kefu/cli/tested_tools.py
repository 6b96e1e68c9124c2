"""Compares the tools and users that a file of questions names with the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.secrets import AUDIENCE
from kefu.evaluation.cases import Case, Expected
from kefu.evaluation.tool_fields import EVERY_TOOL
from kefu.settings import Settings
from kefu.settings.tool_references import unknown_tool
from kefu.settings.tools import names_of
from kefu.upstream.kefu_server import ServerVisitor

_TOKEN_SECONDS = 3600
NEEDS_LIVE_TOOLS = (
    "a running service calls its own tools: --live-tools runs this case, without the given results"
)


def needs_live_tools(case: Case) -> bool:
    """Whether a running service could change something, or does not have the given results."""
    return any(one.results.keys() - {EVERY_TOOL} or one.says_yes for one in case.questions)


def problem_with_cases(cases: Sequence[Case], settings: Settings, *, is_here: bool) -> str:
    """What is wrong with the names in the cases; "" if nothing is.

    `is_here`: the service has these settings.
    """
    for case in cases:
        if case.user and not settings.identity_keys:
            return f"{case.name}: user: needs KEFU_IDENTITY_SECRETS, which signs users' tokens"
        if is_here and (problem := _problem_with_tools(case, settings)):
            return f"{case.name}: {problem}"
    return ""


def _problem_with_tools(case: Case, settings: Settings) -> str:
    tables = settings.tools
    known = names_of(tables)
    for key, name in _names(case):
        if name not in known:
            return f"{key}: {unknown_tool(name, known)}"
        if key == "results" and name in tables and tables[name].kind == "built-in":
            return f"results: {name} is Kefu's own tool, and runs in tests, too."
    return ""


def _names(case: Case) -> Iterator[tuple[str, str]]:
    for question in case.questions:
        approve = question.approve
        yield from (("results", name) for name in question.results if name != EVERY_TOOL)
        if approve and not isinstance(approve, bool):
            yield from (("approve", name) for name in approve)
    for expected in case.expectations:
        yield from _expected_names(expected)


def _expected_names(expected: Expected) -> Iterator[tuple[str, str]]:
    if expected.called and not isinstance(expected.called, bool):
        yield from (("called", one.name) for one in expected.called)
    yield from (("not_called", name) for name in expected.not_called)
    for form in expected.any:
        yield from _expected_names(form)


def visitor_in(case: Case, visitor: ServerVisitor, settings: Settings) -> ServerVisitor:
    """The visitor of a case: its user, and the language that its first answer shall have."""
    visitor = visitor._replace(language=case.questions[0].expected.language)
    if not case.user:
        return visitor
    import jwt  # here, because few cases have users

    claims = {**case.user, "aud": AUDIENCE, "exp": int(SystemClock().now()) + _TOKEN_SECONDS}
    return visitor._replace(user_token=jwt.encode(claims, settings.identity_keys[0], "HS256"))
