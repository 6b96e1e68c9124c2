"""H10: the file of questions is read as it was meant, or refused with the place of the mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.cli.init import EXAMPLE_QUESTIONS
from kefu.evaluation.cases import named_apart
from kefu.evaluation.questions import read
from kefu.evaluation.source import WrongFile


def written(folder: Path, text: str, name: str = "questions.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_words_of_yaml_stay_texts(tmp_path: Path) -> None:
    """In YAML 1.1 `9:00` is the number 540, and `no` is false."""
    [case] = read(written(tmp_path, '- {ask: "When?", expect: {contains: [9:00, no, 30, null]}}'))
    assert case.questions[0].expected.contains == ["9:00", "no", "30", "null"]
    assert case.name == "When?"


def test_a_case_replaces_what_holds_for_every_answer(tmp_path: Path) -> None:
    text = "every: {language: en, max_seconds: 5}\ncases: [{ask: Hi, expect: {language: de}}]"
    [case] = read(written(tmp_path, text))
    expected = case.questions[0].expected
    assert (expected.language, expected.max_seconds) == ("de", 5.0)


def test_a_case_replaces_the_share_that_must_pass(tmp_path: Path) -> None:
    text = "pass: 0.8\ncases: [{ask: A}, {ask: B, pass: 0.5}]"
    assert [one.pass_rate for one in read(written(tmp_path, text))] == [0.8, 0.5]
    assert read(written(tmp_path, "- ask: A"))[0].pass_rate == 1.0


def test_cases_with_one_name_are_told_apart(tmp_path: Path) -> None:
    cases = read(written(tmp_path, "- ask: A\n- ask: B\n- ask: A\n"))
    assert [one.name for one in named_apart(cases)] == ["A", "B", "A (2)"]


def test_a_schema_has_the_types_that_it_is_written_with(tmp_path: Path) -> None:
    text = "- {ask: A, expect: {json_schema: {properties: {a: {maximum: 5, const: '5'}}}}}"
    [case] = read(written(tmp_path, text))
    schema = {"properties": {"a": {"maximum": 5, "const": "5"}}}
    assert case.questions[0].expected.json_schema == schema


def test_json_lines_are_cases(tmp_path: Path) -> None:
    text = '{"ask": "A", "expect": {"refuses": true}}\n\n{"name": "b", "turns": [{"ask": "B"}]}\n'
    first, second = read(written(tmp_path, text, "questions.jsonl"))
    assert first.questions[0].expected.refuses is True
    assert (second.name, second.questions[0].ask) == ("b", "B")


def test_the_example_of_kefu_init_is_valid(tmp_path: Path) -> None:
    assert len(read(written(tmp_path, EXAMPLE_QUESTIONS))) == 3
    everything = EXAMPLE_QUESTIONS.replace("# cites", "cites").replace("# judge", "judge")
    assert read(written(tmp_path, everything))[2].questions[0].expected.judge


WRONG = {
    "- ask: [": "line 1",
    "": "a list of cases is missing",
    "[]": "there is no question",
    "- {ask: Hi, expect: {contain: x}}": "did you mean contains?",
    "- {name: n, ask: ''}": "case 1 (n), turn 1: ask: is empty",
    "- {ask: a}\n- {aks: a}": "case 2: aks is not known; did you mean ask?",
    "- {ask: a, turns: []}": "either `ask`, or `turns`",
    "- {turns: [], expect: {}}": "each turn has its own `expect`",
    "- {ask: a, expect: {regex: '('}}": "( is not a regular expression",
    "- {ask: a, expect: {language: klingon}}": "must be one of ar, de",
    "- {ask: a, expect: {max_seconds: soon}}": "a number of seconds",
    "- {ask: a, expect: {max_seconds: nan}}": "a number of seconds",
    "- {ask: a, expect: {refuses: maybe}}": "must be true or false",
    "- {ask: a, expect: {grounded: 80}}": "must be true, false or a share, such as 0.8",
    "- {ask: a, expect: {contains: {a: b}}}": "must be a text",
    "- {ask: a, expect: {contains: ''}}": "is empty",
    "- {ask: a, expect: x}": "must be a mapping",
    "- {ask: a, expect: {any: []}}": "expect.any: must be a list such as",
    "- {ask: a, expect: {any: [{contains: b}, {conains: b}]}}": "any[2]: conains is not known",
    "- {ask: a, expect: {json_schema: x}}": "must be a schema such as `type: object`",
    "- {ask: a, expect: {json_schema: {type: objct}}}": "json_schema: type cannot be checked",
    "- {ask: a, expect: {python: x}}": "x must be module:function",
    "- {ask: a, expect: {python: 'asyncio:sleep'}}": "asyncio:sleep must not be async",
    "- {ask: a, visitor: {persona: b}}": "case 1: visitor: needs a `persona` and a `goal`",
    "- {ask: a, visitor: {persona: b, goal: c, turns: 31}}": "turns: must be a number from 1 to 30",
    "- {ask: a, visitor: {persona: b, goal: c, steps: 3}}": "steps is not known; did you mean stop",
    "- {turns: [{ask: a}], visitor: {persona: b, goal: c}}": "there are no `turns` beside it",
    "- {ask: a, visitor: {persona: b, goal: c}, expect: {grounded: true}}": "it into `every`",
    "- {visitor: {persona: b, goal: c}}": "needs either `ask`, or `turns`",
    "- {ask: a, pass: 80}": "case 1: pass: must be true, false or a share, such as 0.8",
    "{pass: 1.5, cases: [{ask: a}]}": "the file: pass: must be true, false or a share",
    "every: {langage: de}\ncases: [{ask: a}]": "every: langage is not known",
    "- !!python/object/apply:os.system [x]": "must be a mapping",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_refused_with_its_place(text: str, tmp_path: Path) -> None:
    with pytest.raises(WrongFile) as refused:
        read(written(tmp_path, text))
    assert WRONG[text] in str(refused.value)
    assert "questions.yaml" in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongFile, match="No such file"):
        read(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"- ask: \xfc")
    with pytest.raises(WrongFile, match="not UTF-8"):
        read(tmp_path / "latin.yaml")
    with pytest.raises(WrongFile, match="line 2: this is not JSON"):
        read(written(tmp_path, '{"ask": "a"}\n{', "broken.jsonl"))
