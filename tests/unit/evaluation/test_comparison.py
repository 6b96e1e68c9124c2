"""S35: runs of a case make a pass rate, which is compared with the last run."""

from __future__ import annotations

import json

import pytest

from kefu.evaluation.cases import Case, CaseQuestion, Expected, SimulatedVisitor
from kefu.evaluation.checks import ServiceAnswer
from kefu.evaluation.comparison import as_json, comparison_lines, last_run
from kefu.evaluation.markdown import markdown
from kefu.evaluation.report import junit, line, part_lines, summary
from kefu.evaluation.results import AnsweredQuestion, CaseRun, PassedRuns, Result
from kefu.evaluation.source import WrongFile

QUESTION = CaseQuestion("When?", Expected())
GOOD = CaseRun([AnsweredQuestion(QUESTION, ServiceAnswer("At 9.", 1.0), [])])
BAD = CaseRun([AnsweredQuestion(QUESTION, ServiceAnswer("8|9", 2.0), ["no"])])
LOST = CaseRun([AnsweredQuestion(QUESTION, None, [], "the model is away")])


def result(name: str, *runs: CaseRun, preset: str = "", pass_rate: float = 1.0) -> Result:
    return Result(Case(name, [QUESTION], pass_rate), runs, preset)


@pytest.mark.parametrize(
    ("runs", "pass_rate", "status"),
    [
        ([GOOD], 1.0, "passed"),
        ([GOOD, GOOD, BAD], 1.0, "failed"),
        ([GOOD, GOOD, GOOD, GOOD, BAD], 0.8, "passed"),
        ([GOOD, GOOD, GOOD, BAD, BAD], 0.8, "failed"),
        ([GOOD, GOOD, GOOD, GOOD, LOST], 0.8, "passed"),
        ([GOOD, BAD, LOST], 0.5, "error"),
        ([GOOD] * 11 + [BAD] * 9, 0.55, "passed"),
    ],
)
def test_a_case_passes_if_enough_of_its_runs_pass(
    runs: list[CaseRun], pass_rate: float, status: str
) -> None:
    assert result("hours", *runs, pass_rate=pass_rate).status == status


def test_the_first_run_that_failed_is_shown() -> None:
    one = result("hours", GOOD, BAD, LOST, preset="a")
    assert line(one) == ("ERROR     1.0 s  hours [a], 1 of 3\n         no\n         answer: 8|9")
    assert '<error message="1 of 3 runs passed">' in junit([one], 3.0)


RESULTS = [
    result("hours", GOOD, GOOD, preset="a"),
    result("hours", GOOD, BAD, preset="b"),
    result("price", GOOD, GOOD, preset="a"),
    result("price", GOOD, GOOD, preset="b"),
    result("new", GOOD, GOOD, preset="a"),
    result("new", GOOD, GOOD, preset="b"),
]
LAST = {
    ("hours", "b"): PassedRuns(5, 5),
    ("price", "a"): PassedRuns(1, 5),
    ("price", "b"): PassedRuns(5, 5),
    ("gone", "a"): PassedRuns(0, 5),
}
MARKDOWN = """\
**kefu test**: 5 passed, 1 failed in 6.0 s

Since the last run: 1 worse, 1 better.

|  | Case | a: 3 of 3 passed | b: 2 of 3 passed | Reason |
| --- | --- | --- | --- | --- |
| FAIL | hours | 2 of 2, 1.0 s | 1 of 2, was 5 of 5, 1.5 s | b: no<br>b: answer: 8\\|9 |
| PASS | price | 2 of 2, was 1 of 5, 1.0 s | 2 of 2, 1.0 s |  |
| PASS | new | 2 of 2, 1.0 s | 2 of 2, 1.0 s |  |
"""


def test_presets_stand_side_by_side_with_what_was_before() -> None:
    assert markdown(RESULTS, LAST, 6.0) == MARKDOWN
    assert list(part_lines(RESULTS)) == ["a: 3 of 3 passed", "b: 2 of 3 passed"]
    assert list(part_lines(RESULTS[:1])) == []
    assert summary(RESULTS, 6.0, 8) == "5 passed, 1 failed, 2 not run in 6.0 s"


def test_cases_of_a_group_that_passed_share_a_row() -> None:
    grouped = [
        one._replace(case=one.case._replace(group="people" if one.case.name != "new" else ""))
        for one in RESULTS
    ]
    rows = markdown(grouped, {}, 6.0).splitlines()[4:]
    assert [row.split(" | ")[1] for row in rows] == ["all of people", "hours", "new"]
    assert rows[1].startswith("| FAIL | hours | 2 of 2, 1.0 s | 1 of 2, 1.5 s |")
    assert rows[0] == "|  | all of people | 2 of 2 | 1 of 2 |  |"
    assert list(part_lines(grouped))[2:] == [
        "people [a]: 2 of 2 passed",
        "people [b]: 1 of 2 passed",
    ]


def test_a_report_fits_into_a_comment() -> None:
    talker = Case("talk", [QUESTION], visitor=SimulatedVisitor("a", "b", "", 1, Expected()))
    long = CaseRun([AnsweredQuestion(QUESTION, ServiceAnswer("@ada <b>" * 9000, 1.0), [])])
    told = markdown([result("hours", BAD), Result(talker, [long], "a [x]")], {}, 6.0)
    assert len(told) < 65_536
    assert told.endswith(
        "| no<br>answer: 8\\|9 |\n| PASS | talk |  | 1 of 1, 1.0 s |  |\n\n… and 1 more\n"
    )


def test_a_talk_has_no_markup_and_mentions_nobody() -> None:
    talker = Case("talk", [QUESTION], visitor=SimulatedVisitor("a", "b", "", 1, Expected()))
    run = CaseRun([AnsweredQuestion(QUESTION, ServiceAnswer("@ada <b>", 1.0), [])])
    told = markdown([Result(talker, [run], "a [x]")], {}, 6.0)
    assert "<summary>PASS: talk [a [x]]</summary>" in told
    assert "visitor: When?<br>\nassistant: @\u200bada &lt;b&gt;\n" in told


def test_the_file_of_a_run_is_the_last_run_of_the_next() -> None:
    skipped = Result(Case("skipped", [QUESTION]), (), skipped="why")
    last = last_run(as_json([*RESULTS, skipped], 6.0))
    assert last["hours", "b"] == PassedRuns(1, 2)
    assert len(last) == len(RESULTS)
    same = list(comparison_lines(RESULTS, last))
    assert same == ["Since the last run: 0 worse, 0 better."]
    assert list(comparison_lines(RESULTS, last_run(""))) == []


def test_the_json_has_all_answers() -> None:
    [told] = json.loads(as_json([result("hours", GOOD, LOST)], 3.0))["results"]
    turns = [run["turns"][0] for run in told["runs"]]
    assert [one["answer"] for one in turns] == ["At 9.", None]
    assert turns[1]["error"] == "the model is away"


@pytest.mark.parametrize("text", ["[]", "{", '{"results": [{"case": "a"}]}', '{"results": 5}'])
def test_another_file_is_no_last_run(text: str) -> None:
    with pytest.raises(WrongFile, match="not a file that `kefu test --json` wrote"):
        last_run(text)
