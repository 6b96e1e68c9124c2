"""The questions of attackers that Kefu brings along, in `redteam.yaml`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kefu.evaluation.cases import Case, Expected, needs_judge
from kefu.evaluation.questions import read


def redteam(*, has_judge: bool) -> Sequence[Case]:
    """All cases. Without a judge, the rules alone decide."""
    cases = read(Path(__file__).with_name("redteam.yaml"))
    return cases if has_judge else [_by_rules(case) for case in cases]


def _by_rules(case: Case) -> Case:
    questions = [one._replace(expected=_without_judge(one.expected)) for one in case.questions]
    return case._replace(questions=questions)


def _without_judge(expected: Expected) -> Expected:
    return expected._replace(judge="", any=[one for one in expected.any if not needs_judge(one)])
