"""Reads a file of questions and the expectations of their answers, in YAML or JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from kefu.evaluation.cases import Case, CaseQuestion, Expected, SimulatedVisitor, short
from kefu.evaluation.fields import (
    known_keys,
    language,
    patterns,
    schema,
    seconds,
    share,
    site_check,
    switch,
    text,
    texts,
    texts_or_switch,
    user_claims,
)
from kefu.evaluation.source import WrongFile, at_line_of, content_of
from kefu.evaluation.tool_fields import RESULT_KEYS, Results, approve, called, results_in

_CASE_KEYS = ("name", "group", "user", "pass", "turns", "visitor")
_VISITOR_TEXTS = ("persona", "goal", "stop")
_USUAL_MESSAGES, _MOST_MESSAGES = 6, 30
_TURN_KEYS = ("ask", "expect", "approve", *RESULT_KEYS)


def read(path: Path) -> list[Case]:
    """The cases of a file. Raises WrongFile."""
    try:
        cases = list(_cases(content_of(path)))
    except WrongFile as error:
        line = f"line {error.line}: " if error.line else ""
        raise WrongFile(f"{path}: {line}{error}", error.line) from error
    if not cases:
        raise WrongFile(f"{path}: there is no question in it")
    return cases


class _Common(NamedTuple):
    """What the file says for all of its cases."""

    expected: Mapping[str, Any] = MappingProxyType({})
    results: Results = MappingProxyType({})
    pass_rate: float = 1.0


def _cases(content: object) -> Iterator[Case]:
    """A list of cases, or a mapping of `cases` and what holds for all of them."""
    common = _Common()
    if isinstance(content, Mapping):
        given = known_keys(content, ("every", "pass", *RESULT_KEYS, "cases"), "the file")
        content = given.get("cases")
        expected = _expected(given.get("every", {}), "every")
        results = results_in(given, "the file")
        common = _Common(expected, results, _pass_rate(given, "the file", 1.0))
    if not isinstance(content, list):
        raise WrongFile("a list of cases is missing: - ask: …")
    for number, case in enumerate(content, 1):
        yield _case(case, number, common)


def _pass_rate(given: Mapping[str, Any], place: str, default: float) -> float:
    with at_line_of(given, "pass"):
        return share(given["pass"], f"{place}: pass") if "pass" in given else default


def _case(content: object, number: int, common: _Common) -> Case:
    place = f"case {number}"
    given = known_keys(content, (*_CASE_KEYS, *_TURN_KEYS), place)
    name = text(given["name"], f"{place}: name") if "name" in given else ""
    if name:
        place += f" ({name})"
    with at_line_of(given, "ask"):
        if ("turns" in given) == ("ask" in given):
            raise WrongFile(f"{place}: needs either `ask`, or `turns` with an `ask` in each")
    if "turns" in given:
        questions = list(_turns(given, place, common))
    else:
        questions = [_question(given, f"{place}, turn 1", common)]
    visitor = _visitor(given, place) if "visitor" in given else None
    if visitor:
        questions = [questions[0]._replace(expected=Expected(**common.expected))]
    with at_line_of(given, "user"):
        user = user_claims(given["user"], f"{place}: user") if "user" in given else {}
    group = text(given["group"], f"{place}: group") if "group" in given else ""
    pass_rate = _pass_rate(given, place, common.pass_rate)
    name = name or short(questions[0].ask)
    return Case(name, questions, pass_rate, group, user, visitor=visitor)


def _visitor(given: Mapping[str, Any], place: str) -> SimulatedVisitor:
    """The visitor of a case, whose `expect` is about the whole talk."""
    place = f"{place}: visitor"
    with at_line_of(given, "visitor"):
        if "turns" in given:
            raise WrongFile(f"{place}: goes on after `ask`, so there are no `turns` beside it")
        found = known_keys(given["visitor"], (*_VISITOR_TEXTS, "turns"), place)
        if not found.get("persona") or not found.get("goal"):
            raise WrongFile(f"{place}: needs a `persona` and a `goal`")
    with at_line_of(found, "turns"):
        messages = str(found.get("turns", _USUAL_MESSAGES))
        if not messages.isdecimal() or not 1 <= int(messages) <= _MOST_MESSAGES:
            raise WrongFile(f"{place}.turns: must be a number from 1 to {_MOST_MESSAGES}")
    with at_line_of(given, "expect"):
        expected = Expected(**_expected(given.get("expect", {}), f"{place}: expect"))
        if expected.grounded is not None:
            raise WrongFile(f"{place}: expect: grounded is for one answer: write it into `every`")
    persona, goal, stop = (text(found.get(one, ""), f"{place}.{one}") for one in _VISITOR_TEXTS)
    return SimulatedVisitor(persona, goal, stop, int(messages), expected)


def _turns(given: Mapping[str, Any], place: str, common: _Common) -> Iterator[CaseQuestion]:
    for key in ("expect", "approve"):
        with at_line_of(given, key):
            if key in given:
                raise WrongFile(f"{place}: {key}: each turn has its own `{key}`")
    with at_line_of(given, "turns"):
        if not isinstance(given["turns"], list) or not given["turns"]:
            raise WrongFile(f"{place}: turns: must be a list")
    common = common._replace(results={**common.results, **results_in(given, place)})
    for number, turn in enumerate(given["turns"], 1):
        where = f"{place}, turn {number}"
        yield _question(known_keys(turn, _TURN_KEYS, where), where, common)


def _question(given: Mapping[str, Any], place: str, common: _Common) -> CaseQuestion:
    with at_line_of(given, "ask"):
        ask = text(given.get("ask", ""), f"{place}: ask")
        if not ask.strip():
            raise WrongFile(f"{place}: ask: is empty")
    with at_line_of(given, "expect"):
        expected = _expected(given.get("expect", {}), f"{place}: expect")
    with at_line_of(given, "approve"):
        answer = approve(given["approve"], f"{place}: approve") if "approve" in given else None
    results = {**common.results, **results_in(given, place)}
    return CaseQuestion(ask, Expected(**{**common.expected, **expected}), results, answer)


def _expected(content: object, place: str) -> Mapping[str, Any]:
    """The fields of an `Expected`."""
    given, found = known_keys(content, tuple(_READERS), place), dict[str, Any]()
    for name, value in given.items():
        with at_line_of(given, name):
            found["not_" if name == "not" else name] = _READERS[name](value, f"{place}.{name}")
    return found


def _forms(value: object, place: str) -> Sequence[Expected]:
    """Read `any`: a list of alternatives, each a mapping of expectations."""
    if not isinstance(value, list) or not value:
        raise WrongFile(f"{place}: must be a list such as `[{{contains: yes}}, {{refuses: true}}]`")
    return [Expected(**_expected(one, f"{place}[{n}]")) for n, one in enumerate(value, 1)]


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "contains": texts,
    "equals": text,
    "not": texts,
    "regex": patterns,
    "not_regex": patterns,
    "language": language,
    "max_seconds": seconds,
    "cites": texts_or_switch,
    "refuses": switch,
    "grounded": share,
    "json_schema": schema,
    "python": site_check,
    "judge": text,
    "called": called,
    "not_called": texts,
    "card": texts_or_switch,
    "any": _forms,
}
