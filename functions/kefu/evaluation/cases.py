"""A case: the questions of a chat, and the expectations of their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kefu.evaluation.fields import SiteCheck
from kefu.evaluation.tool_fields import Approve, CalledTool, Results


class Expected(NamedTuple):
    """The expectations of one answer. A field that is empty or None expects nothing."""

    contains: Sequence[str] = ()
    equals: str = ""
    """The whole answer, but for case and white space."""
    not_: Sequence[str] = ()
    regex: Sequence[str] = ()
    not_regex: Sequence[str] = ()
    language: str = ""
    max_seconds: float | None = None
    cites: Sequence[str] | bool | None = None
    """Parts of addresses or titles of cited pages; True: any page, False: none."""
    refuses: bool | None = None
    grounded: float | None = None
    """The share of sentences whose facts are in the cited passages; 0: it cites none."""
    json_schema: object = None
    """The JSON Schema of an answer that is JSON."""
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
    """Alternatives, of which one must hold with all of its expectations."""


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
        """Whether the file answers a card of this question with yes."""
        given = self.approve
        return any(given.values()) if isinstance(given, Mapping) else bool(given)


class StoredAnswer(NamedTuple):
    """What a visitor read."""

    text: str
    history: Sequence[Mapping[str, str]]
    """The messages before the question, `role` and `content`."""
    preset: str = ""
    """The preset of the chat; "" for the usual one."""


class SimulatedVisitor(NamedTuple):
    """A visitor whom a model plays, after the first message."""

    persona: str
    goal: str
    stop: str
    """When the talk is over; "" if only the goal decides."""
    messages: int
    """The most messages of the talk that are the visitor's."""
    expected: Expected
    """The expectations of the whole talk."""


class Case(NamedTuple):
    """A chat of one or more questions, in order."""

    name: str
    questions: Sequence[CaseQuestion]
    pass_rate: float = 1.0
    """The share of its runs that must pass."""
    group: str = ""
    """Cases of a group are counted together; "" for none."""
    user: Mapping[str, str] = MappingProxyType({})
    """The claims of a signed-in user, of which `sub` is the name; empty: nobody is signed in."""
    stored: StoredAnswer | None = None
    """The answer to a question of a real visitor, for comparison."""
    visitor: SimulatedVisitor | None = None
    """Writes the messages after the only question, whose expectations hold for each answer."""

    @property
    def expectations(self) -> Sequence[Expected]:
        """The expectations of each answer, and of the whole talk."""
        whole = [self.visitor.expected] if self.visitor else []
        return [*(one.expected for one in self.questions), *whole]


def named_apart(cases: Iterable[Case]) -> list[Case]:
    """The cases, of which no two have the same name: the second one gets a ` (2)`."""
    times = Counter[str]()
    found = list[Case]()
    for case in cases:
        times[case.name] += 1
        number = f" ({times[case.name]})" if times[case.name] > 1 else ""
        found.append(case._replace(name=case.name + number))
    return found


def needs_judge(expected: Expected) -> bool:
    return bool(expected.judge) or any(map(needs_judge, expected.any))


def short(question: str) -> str:
    """The name of a case without a name."""
    line = " ".join(question.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
