"""Reads a file of questions and the expectations of their answers, in YAML or JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from kefu.evaluation.fields import (
    SiteCheck,
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
from kefu.evaluation.tool_fields import (
    RESULT_KEYS,
    Approve,
    CalledTool,
    Results,
    approve,
    called,
    results_in,
)

_TURN_KEYS = ("ask", "expect", "approve", *RESULT_KEYS)


class Expected(NamedTuple):
    """The expectations of one answer. A field that is empty or None expects nothing."""

    contains: Sequence[str] = ()
    equals: str = ""
    """The whole answer, but for case and white space."""
    not_: Sequence[str] = ()
    regex: Sequence[str] = ()
    language: str = ""
    max_seconds: float | None = None
    cites: Sequence[str] | bool | None = None
    """Parts of addresses or titles of cited pages; True: any page, False: none."""
    refuses: bool | None = None
    grounded: float | None = None
    """The share of sentences whose facts are in the cited passages; 0: it cites none."""
    json_schema: object = None
    """Of an answer that is JSON."""
    python: SiteCheck | None = None
    judge: str = ""
    """A rubric for a model."""
    called: Sequence[CalledTool] | bool | None = None
    """Calls of tools; True: any call, False: none."""
    not_called: Sequence[str] = ()
    """Tools that are not called."""
    card: Sequence[str] | bool | None = None
    """Parts of the texts of cards; True: any card, False: none."""
    any: Sequence[Expected] = ()
    """Of these, one holds wholly."""


class CaseQuestion(NamedTuple):
    ask: str
    expected: Expected
    results: Results = MappingProxyType({})
    approve: Approve = None

    def answer_to(self, tool: str) -> bool | None:
        """The answer to a card of a tool; None: the card is not answered."""
        return self.approve.get(tool) if isinstance(self.approve, Mapping) else self.approve

    @property
    def says_yes(self) -> bool:
        """Whether a card may be approved."""
        given = self.approve
        return any(given.values()) if isinstance(given, Mapping) else bool(given)


class Case(NamedTuple):
    """A chat of one or more questions, in order."""

    name: str
    questions: Sequence[CaseQuestion]
    pass_rate: float = 1.0
    """The share of its runs that must pass."""
    user: Mapping[str, str] = MappingProxyType({})
    """The claims of a signed-in user, of which `sub` is the name; empty: nobody is signed in."""


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


def named_apart(cases: Iterable[Case]) -> list[Case]:
    """The cases, of which no two have the same name: the second one gets a ` (2)`."""
    times = Counter[str]()
    found = list[Case]()
    for case in cases:
        times[case.name] += 1
        number = f" ({times[case.name]})" if times[case.name] > 1 else ""
        found.append(case._replace(name=case.name + number))
    return found


def _cases(content: object) -> Iterator[Case]:
    """A list of cases, or a mapping of `cases` and what holds for all of them."""
    common: Mapping[str, Any] = {}
    pass_rate = 1.0
    if isinstance(content, Mapping):
        given = known_keys(content, ("every", "pass", "cases"), "the file")
        content = given.get("cases")
        common = _expected(given.get("every", {}), "every")
        pass_rate = _pass_rate(given, "the file", pass_rate)
    if not isinstance(content, list):
        raise WrongFile("a list of cases is missing: - ask: …")
    for number, case in enumerate(content, 1):
        yield _case(case, number, common, pass_rate)


def _pass_rate(given: Mapping[str, Any], place: str, default: float) -> float:
    with at_line_of(given, "pass"):
        return share(given["pass"], f"{place}: pass") if "pass" in given else default


def _case(content: object, number: int, common: Mapping[str, Any], pass_rate: float) -> Case:
    place = f"case {number}"
    given = known_keys(content, ("name", "user", "pass", "turns", *_TURN_KEYS), place)
    name = text(given["name"], f"{place}: name") if "name" in given else ""
    if name:
        place += f" ({name})"
    with at_line_of(given, "ask"):
        if ("turns" in given) == ("ask" in given):
            raise WrongFile(f"{place}: needs either `ask`, or `turns` with an `ask` in each")
    if "turns" in given:
        questions = list(_turns(given, place, common))
    else:
        questions = [_question(given, f"{place}, turn 1", common, {})]
    with at_line_of(given, "user"):
        user = user_claims(given["user"], f"{place}: user") if "user" in given else {}
    name = name or _short(questions[0].ask)
    return Case(name, questions, _pass_rate(given, place, pass_rate), user)


def _turns(
    given: Mapping[str, Any], place: str, common: Mapping[str, Any]
) -> Iterator[CaseQuestion]:
    for key in ("expect", "approve"):
        with at_line_of(given, key):
            if key in given:
                raise WrongFile(f"{place}: {key}: each turn has its own `{key}`")
    with at_line_of(given, "turns"):
        if not isinstance(given["turns"], list) or not given["turns"]:
            raise WrongFile(f"{place}: turns: must be a list")
    results = results_in(given, place)
    for number, turn in enumerate(given["turns"], 1):
        where = f"{place}, turn {number}"
        yield _question(known_keys(turn, _TURN_KEYS, where), where, common, results)


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _question(
    given: Mapping[str, Any], place: str, common: Mapping[str, Any], results: Results
) -> CaseQuestion:
    with at_line_of(given, "ask"):
        ask = text(given.get("ask", ""), f"{place}: ask")
        if not ask.strip():
            raise WrongFile(f"{place}: ask: is empty")
    with at_line_of(given, "expect"):
        expected = _expected(given.get("expect", {}), f"{place}: expect")
    with at_line_of(given, "approve"):
        answer = approve(given["approve"], f"{place}: approve") if "approve" in given else None
    own = results_in(given, place)
    return CaseQuestion(ask, Expected(**{**common, **expected}), {**results, **own}, answer)


def _expected(content: object, place: str) -> Mapping[str, Any]:
    """The fields of an `Expected`."""
    given, found = known_keys(content, tuple(_READERS), place), dict[str, Any]()
    for name, value in given.items():
        with at_line_of(given, name):
            found["not_" if name == "not" else name] = _READERS[name](value, f"{place}.{name}")
    return found


def _forms(value: object, place: str) -> Sequence[Expected]:
    """The forms of `any`."""
    if not isinstance(value, list) or not value:
        raise WrongFile(f"{place}: must be a list such as `[{{contains: yes}}, {{refuses: true}}]`")
    return [Expected(**_expected(one, f"{place}[{n}]")) for n, one in enumerate(value, 1)]


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "contains": texts,
    "equals": text,
    "not": texts,
    "regex": patterns,
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
