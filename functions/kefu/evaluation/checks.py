"""Compares an answer with its expectations."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from kefu.evaluation.cases import Expected
from kefu.evaluation.fields import SiteCheck
from kefu.evaluation.groundedness import groundedness
from kefu.evaluation.language import language_of
from kefu.evaluation.steps import ToolUse, tool_failures
from kefu.tools.schema import problems

_REFUSALS = re.compile(
    r"\b(can(no|')?t|can not|unable to|not able to|won't) (help|assist|answer|provide|discuss|do)\b"
    r"|\b(do not|don't) (know|have (any |that |this )?information)\b"
    r"|(kann|darf) (ich )?(ihnen |dir |das |dabei |dazu )*(leider )?(nicht|keine)"
    r"|weiß ich (leider )?nicht"
    r"|je (ne peux|ne sais) pas|no (puedo|sé|dispongo)|não (posso|sei)|non (posso|so)\b"
    r"|无法|不能(回答|提供|帮)|不知道|抱歉|対象外|(お答え|回答|提供)できません|わかりません"
    r"|не (могу|знаю)",
    re.IGNORECASE,
)
"""Usual words of a refusal, for services without learnt pages, which report none."""

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL | re.IGNORECASE)

Judge = Callable[[str, str, str], Awaitable[str]]
"""Takes a rubric, a question and its answer. Returns why the answer fails; empty for a good answer.

Raises a KefuError if the model gives no verdict.
"""


class CitedPage(NamedTuple):
    """A page that an answer cites."""

    title: str
    url: str
    number: int = 0
    text: str | None = None
    """The passage that the model received; None if the service does not show it."""


class ServiceAnswer(NamedTuple):
    """The answer of a service to one question."""

    text: str
    seconds: float
    """Seconds from the request to the last word, without waits for a rate limit."""
    pages: Sequence[CitedPage] | None = None
    """The cited pages; None: the service has no learnt pages."""
    answered: bool = True
    """False if the model reports that the pages do not answer the question."""
    question: str = ""
    tools: ToolUse = ToolUse()
    talk: str = ""
    """For a judge of a whole talk: all messages."""


async def failures(answer: ServiceAnswer, expected: Expected, judge: Judge | None) -> list[str]:
    """A line for each expectation that does not hold.

    The judge is asked only if all others hold. Raises its error.
    """
    found = [*_about_text(answer, expected), *_about_whole(answer, expected)]
    found += [*_about_pages(answer, expected), *tool_failures(answer.tools, expected)]
    if expected.any and (missed := await _missed(answer, expected.any, judge)):
        found.append(f"any: none of them holds: {' / '.join(missed)}")
    if judge and expected.judge and not found:
        reason = await judge(expected.judge, answer.question, answer.talk or answer.text)
        found += [f"judge: {reason}"] if reason else []
    return found


async def _missed(
    answer: ServiceAnswer, forms: Sequence[Expected], judge: Judge | None
) -> list[str]:
    """The first failure of each form; none if one form holds."""
    missed = list[str]()
    for form in forms:
        found = await failures(answer, form, judge)
        if not found:
            return []
        missed.append(found[0])
    return missed


def _about_text(answer: ServiceAnswer, expected: Expected) -> Iterator[str]:
    text = _folded(answer.text)
    for part in expected.contains:
        if _folded(part) not in text:
            yield f'contains: "{part}" is not in the answer'
    for part in expected.not_:
        if _folded(part) in text:
            yield f'not: "{part}" is in the answer'
    for pattern in expected.regex:
        if not re.search(pattern, answer.text):
            yield f"regex: {pattern} does not match"
    for pattern in expected.not_regex:
        if found := re.search(pattern, answer.text):
            yield f'not_regex: "{found[0]}" is in the answer'


def _about_whole(answer: ServiceAnswer, expected: Expected) -> Iterator[str]:
    if expected.equals and _folded(expected.equals) != _folded(answer.text):
        yield f'equals: it is not "{expected.equals}"'
    if expected.language and (found := language_of(answer.text)) != expected.language:
        yield f"language: {found or 'not recognized'}, not {expected.language}"
    if expected.max_seconds is not None and answer.seconds > expected.max_seconds:
        yield f"max_seconds: took {answer.seconds:.1f} s, more than {expected.max_seconds:g} s"
    if expected.json_schema is not None:
        yield from _about_json(answer.text, expected.json_schema)
    if expected.python and (reason := _reason(expected.python, answer)):
        yield f"python: {expected.python.place}: {reason}"


def _about_json(text: str, schema: object) -> Iterator[str]:
    """`text`: JSON, also between the marks of a code block."""
    fenced = _FENCED.search(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        yield "json_schema: the answer is not JSON"
        return
    yield from (f"json_schema: {one}" for one in problems(schema, value))


def _reason(site: SiteCheck, answer: ServiceAnswer) -> str:
    """Why the site's own check fails the answer; "" if the answer passes."""
    try:
        found = site.check(answer.text, answer.question)
    except Exception as error:  # noqa: BLE001 - the site's function may raise any
        return f"it raised {type(error).__name__}: {error}"
    return "" if found is None or found is True else str(found or "it fails")


def _about_pages(answer: ServiceAnswer, expected: Expected) -> Iterator[str]:
    pages = answer.pages or ()
    cited = ", ".join(page.url or page.title for page in pages) or "no page"
    if isinstance(expected.cites, bool):
        if expected.cites != bool(pages):
            yield f"cites: it cites {cited}"
    else:
        for part in expected.cites or ():
            if not any(_folded(part) in _folded(f"{page.url} {page.title}") for page in pages):
                yield f'cites: "{part}" is not cited; it cites {cited}'
    if expected.refuses is not None:
        refused = not answer.answered or bool(_REFUSALS.search(answer.text.replace("\u2019", "'")))
        if refused != expected.refuses:
            yield f"refuses: it {'refused' if refused else 'answered'}"
    if expected.grounded is not None:
        yield from _about_facts(answer, expected.grounded, cited)


def _about_facts(answer: ServiceAnswer, wanted: float, cited: str) -> Iterator[str]:
    pages = answer.pages or ()
    if answer.pages is None:
        yield "grounded: the service has no learnt pages"
    elif bool(wanted) != (answer.answered and bool(pages)):
        yield f"grounded: it cites {cited}"
    elif any(page.text is None for page in pages):
        yield "grounded: the service does not show its passages: it is older than this command"
    else:
        passages = {page.number: f"{page.title}\n{page.url}\n{page.text}" for page in pages}
        found = groundedness(answer.text, passages, answer.question)
        if found.share < wanted:
            missing = ", ".join(found.missing)
            yield f"grounded: {found.share:.0%} of the sentences; not in the passages: {missing}"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
