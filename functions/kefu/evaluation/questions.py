"""Reads a file of questions and the expectations of their answers, in YAML or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from kefu.evaluation.language import LANGUAGES


class WrongFile(Exception):
    """The file of questions is wrong. The message names the place, for its author."""


class Expected(NamedTuple):
    """The expectations of one answer. A field that is empty or None expects nothing."""

    contains: Sequence[str] = ()
    not_: Sequence[str] = ()
    regex: Sequence[str] = ()
    language: str = ""
    max_seconds: float | None = None
    cites: Sequence[str] | bool | None = None
    """Parts of addresses or titles of cited pages; True: any page, False: none."""
    refuses: bool | None = None
    grounded: float | None = None
    """The share of sentences whose facts are in the cited passages; 0: it cites none."""
    judge: str = ""
    """A rubric for a model."""


class CaseQuestion(NamedTuple):
    ask: str
    expected: Expected


class Case(NamedTuple):
    """A chat of one or more questions, in order."""

    name: str
    questions: Sequence[CaseQuestion]


def read(path: Path) -> list[Case]:
    """The cases of a file. Raises WrongFile."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise WrongFile(f"{path}: {reason}") from error
    lines = path.suffix.lower() in (".jsonl", ".ndjson")
    try:
        cases = list(_cases(list(_json_lines(text)) if lines else _yaml(text)))
    except WrongFile as error:
        raise WrongFile(f"{path}: {error}") from error
    if not cases:
        raise WrongFile(f"{path}: there is no question in it")
    return cases


def _yaml(text: str) -> object:
    import yaml

    try:
        # Every scalar stays a text: else `no` is a boolean and `9:00` is the number 540.
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it builds no objects
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f"line {where.line + 1}: " if where else ""
        raise WrongFile(f"{line}{getattr(error, 'problem', None) or error}") from error


def _json_lines(text: str) -> Iterator[object]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise WrongFile(f"line {number} is not JSON") from error


def _cases(content: object) -> Iterator[Case]:
    """A list of cases, or a mapping of `cases` and the expectations of `every` answer."""
    common: Mapping[str, Any] = {}
    if isinstance(content, Mapping):
        given = _known(content, ("every", "cases"), "the file")
        common, content = given.get("every", {}), given.get("cases")
        _expected(common, "every")
    if not isinstance(content, list):
        raise WrongFile("a list of cases is missing: - ask: …")
    for number, case in enumerate(content, 1):
        yield _case(case, number, common)


def _case(content: object, number: int, common: Mapping[str, Any]) -> Case:
    place = f"case {number}"
    given = _known(content, ("name", "ask", "expect", "turns"), place)
    name = _text(given["name"], f"{place}: name") if "name" in given else ""
    if name:
        place += f" ({name})"
    if ("turns" in given) == ("ask" in given):
        raise WrongFile(f"{place}: needs either `ask`, or `turns` with an `ask` in each")
    turns = given.get("turns", [{key: given[key] for key in ("ask", "expect") if key in given}])
    if not isinstance(turns, list) or not turns or ("turns" in given and "expect" in given):
        raise WrongFile(f"{place}: turns: must be a list; each turn has its own `expect`")
    questions = [_question(turn, f"{place}, turn {n}", common) for n, turn in enumerate(turns, 1)]
    return Case(name or _short(questions[0].ask), questions)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _question(content: object, place: str, common: Mapping[str, Any]) -> CaseQuestion:
    given = _known(content, ("ask", "expect"), place)
    ask = _text(given.get("ask", ""), f"{place}: ask")
    if not ask.strip():
        raise WrongFile(f"{place}: ask: is empty")
    expect = _mapping(given.get("expect", {}), f"{place}: expect")
    return CaseQuestion(ask, _expected({**common, **expect}, f"{place}: expect"))


def _expected(content: object, place: str) -> Expected:
    given = _known(content, tuple(_READERS), place)
    values = {name: _READERS[name](value, f"{place}.{name}") for name, value in given.items()}
    return Expected(**{"not_" if name == "not" else name: value for name, value in values.items()})


def _known(content: object, names: Sequence[str], place: str) -> Mapping[str, Any]:
    given = _mapping(content, place)
    for name in given:
        if name not in names:
            close = get_close_matches(str(name), names, 1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"
            raise WrongFile(f"{place}: {name} is not known; {hint}")
    return given


def _mapping(content: object, place: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise WrongFile(f"{place}: must be a mapping such as `ask: When are you open?`")
    return content


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise WrongFile(f"{place}: must be a text")
    return value


def _texts(value: object, place: str) -> Sequence[str]:
    texts = [_text(one, place) for one in (value if isinstance(value, list) else [value])]
    if not all(texts):
        raise WrongFile(f"{place}: is empty")
    return texts


def _patterns(value: object, place: str) -> Sequence[str]:
    patterns = _texts(value, place)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise WrongFile(f"{place}: {pattern} is not a regular expression: {error}") from error
    return patterns


def _switch(value: object, place: str) -> bool:
    if value in (True, "true", "yes"):
        return True
    if value in (False, "false", "no"):
        return False
    raise WrongFile(f"{place}: must be true or false")


def _seconds(value: object, place: str) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise WrongFile(f"{place}: must be a number of seconds, such as 10")
    return seconds


def _language(value: object, place: str) -> str:
    if value not in LANGUAGES:
        raise WrongFile(f"{place}: must be one of {', '.join(LANGUAGES)}")
    return str(value)


def _pages(value: object, place: str) -> Sequence[str] | bool:
    if value in (True, "true", "yes", False, "false", "no"):
        return _switch(value, place)
    return _texts(value, place)


def _share(value: object, place: str) -> float:
    try:
        share = float(str(value))
    except ValueError:
        return float(_switch(value, place))
    if not 0 <= share <= 1:
        raise WrongFile(f"{place}: must be true, false or a share, such as 0.8")
    return share


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "contains": _texts,
    "not": _texts,
    "regex": _patterns,
    "language": _language,
    "max_seconds": _seconds,
    "cites": _pages,
    "refuses": _switch,
    "grounded": _share,
    "judge": _text,
}
