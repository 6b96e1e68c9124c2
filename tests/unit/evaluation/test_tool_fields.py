"""A17: what a file of questions says about tools is read as it was meant, or refused by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.evaluation.questions import read
from kefu.evaluation.source import WrongFile
from kefu.evaluation.tool_fields import CalledTool, is_same
from kefu.tools.tool import Outcome
from tests.unit.evaluation.test_questions import written


def test_results_are_json_with_the_types_that_they_are_written_with(tmp_path: Path) -> None:
    """Only quotes tell a text from a number, and words of YAML 1.1 stay texts."""
    text = """\
- ask: Hi
  results:
    a: {id: "5", items: 2, total: 9.50, paid: true, sent: no, at: 9:00, gift: null, old: [-1, "1"]}
    b: plain text
    c: 'true'
  errors: {d: Closed.}
  unsure: {e: No response.}
"""
    [case] = read(written(tmp_path, text))
    assert case.questions[0].results == {
        "a": Outcome(
            '{"id":"5","items":2,"total":9.5,"paid":true,"sent":"no","at":"9:00","gift":null,'
            '"old":[-1,"1"]}'
        ),
        "b": Outcome("plain text"),
        "c": Outcome("true"),
        "d": Outcome("Closed.", "failed"),
        "e": Outcome("No response.", "unsure"),
    }


def test_a_turn_replaces_results_of_its_case(tmp_path: Path) -> None:
    text = """\
- results: {order: paid, stock: "3"}
  turns:
    - ask: A
    - ask: B
      errors: {order: gone}
"""
    [case] = read(written(tmp_path, text))
    first, second = (dict(one.results) for one in case.questions)
    assert first == {"order": Outcome("paid"), "stock": Outcome("3")}
    assert second == {"order": Outcome("gone", "failed"), "stock": Outcome("3")}


def test_a_case_replaces_results_of_its_file(tmp_path: Path) -> None:
    text = "errors: {'*': away}\nresults: {order: paid}\ncases:\n- {ask: A, results: {order: sent}}"
    [case] = read(written(tmp_path, text))
    assert case.questions[0].results == {"order": Outcome("sent"), "*": Outcome("away", "failed")}


def test_results_of_json_lines_keep_their_types(tmp_path: Path) -> None:
    text = '{"ask": "A", "results": {"order": {"items": 2, "id": "2"}}, "approve": false}'
    [case] = read(written(tmp_path, text, "questions.jsonl"))
    assert case.questions[0].results == {"order": Outcome('{"items":2,"id":"2"}')}
    assert case.questions[0].approve is False


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("order", [CalledTool("order", {})]),
        ("[order, stock]", [CalledTool("order", {}), CalledTool("stock", {})]),
        ("{order: {id: 5}}", [CalledTool("order", {"id": "5"})]),
        ("{order: [{id: 5}, {id: 6}]}", [CalledTool("order", {"id": id}) for id in "56"]),
        ("[stock, {order: }]", [CalledTool("stock", {}), CalledTool("order", {})]),
        ("false", False),
        ("true", True),
    ],
)
def test_expected_calls(called: str, expected: object, tmp_path: Path) -> None:
    [case] = read(written(tmp_path, f"- {{ask: Hi, expect: {{called: {called}}}}}"))
    assert case.questions[0].expected.called == expected


def test_cards_are_answered_by_one_word_or_by_tool(tmp_path: Path) -> None:
    text = "- {ask: A, approve: yes}\n- {ask: A, approve: {cancel: true, book: no}}\n- ask: A"
    cases = read(written(tmp_path, text))
    word, tools, nothing = (one.questions[0] for one in cases)
    assert [word.answer_to("x"), word.says_yes] == [True, True]
    assert [tools.answer_to(one) for one in ("cancel", "book", "x")] == [True, False, None]
    assert [tools.says_yes, nothing.answer_to("x"), nothing.says_yes] == [True, None, False]


def test_users(tmp_path: Path) -> None:
    text = "- {ask: A, user: ada}\n- {ask: A, user: {sub: bob, plan: gold}}\n- ask: A"
    users = [{**one.user} for one in read(written(tmp_path, text))]
    assert users == [{"sub": "ada"}, {"sub": "bob", "plan": "gold"}, {}]


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ({"id": "5"}, {"id": "5", "reason": "late"}, True),
        ({"id": "5"}, {"id": 5}, True),
        ({"gift": "true"}, {"gift": True}, True),
        ({"id": "5"}, {"id": "50"}, False),
        ({"id": "5"}, {}, False),
        ({"to": {"city": "Oslo"}}, {"to": {"city": "Oslo", "zip": "1"}}, True),
        ({"to": {"city": "Oslo"}}, {"to": "Oslo"}, False),
        ({"days": ["mon", "tue"]}, {"days": ["mon", "tue"]}, True),
        ({"days": ["mon"]}, {"days": ["mon", "tue"]}, False),
        ({"days": ["mon"]}, {"days": "mon"}, False),
        ({"items": 2}, {"items": "2"}, True),
        ({"nothing": "null"}, {"nothing": None}, True),
    ],
)
def test_arguments_are_as_wanted_if_they_have_what_is_named(
    wanted: object, found: object, same: bool
) -> None:
    assert is_same(wanted, found) is same


WRONG = {
    "- ask: a\n  expect:\n    contains: x\n    caled: x": (4, "did you mean called?"),
    "- ask: a\n  result: {}": (2, "did you mean results?"),
    "- ask: a\n- turns:\n    - ask: b\n      aprove: true": (4, "case 2, turn 1: aprove"),
    "- ask: a\n  approve: perhaps": (2, "must be true or false"),
    "- ask: a\n  approve:\n    x: yes\n    cancel: perhaps": (4, "approve.cancel: must be true"),
    "- ask: a\n  approve: {}": (2, "approve: is empty"),
    "- turns:\n    - ask: a\n  approve: true": (3, "each turn has its own `approve`"),
    "- ask: a\n  results: text": (2, "must be a mapping such as `order_status: Sent.`"),
    "- ask: a\n  results: {x: 1}\n  errors:\n    x: no": (4, "x has another result already"),
    "- ask: a\n  errors:\n    x: {code: 5}": (3, "errors.x: must be a text"),
    "- ask: a\n  expect:\n    called: {x: 5}": (3, "must have its arguments"),
    "- ask: a\n  expect:\n    called: []": (3, "called: is empty"),
    "- ask: a\n  expect:\n    card: {a: b}": (3, "card: must be a text"),
    "- ask: a\n  user: {plan: gold}": (2, "needs a name"),
    "- ask: a\n  user: ''": (2, "needs a name"),
    "- ask: a\n  ? [x]\n  : y": (2, "a key must be a text"),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_key_or_value_is_named_with_its_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(WrongFile) as refused:
        read(written(tmp_path, text))
    line, says = WRONG[text]
    assert f"questions.yaml: line {line}: " in str(refused.value)
    assert says in str(refused.value)


def test_a_wrong_key_of_json_lines_is_named_with_its_line(tmp_path: Path) -> None:
    text = '{"ask": "a"}\n\n{"ask": "a", "expect": {"card": 5}}'
    with pytest.raises(WrongFile, match=r"jsonl: line 3: case 2, turn 1: expect\.card: must be"):
        read(written(tmp_path, text, "questions.jsonl"))


def test_results_may_be_shared_by_an_alias(tmp_path: Path) -> None:
    text = "- {ask: A, results: &shop {order: paid}}\n- {ask: B, results: *shop}"
    first, second = read(written(tmp_path, text))
    assert first.questions[0].results == second.questions[0].results != {}


def test_a_file_that_contains_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongFile, match="nested too deeply"):
        read(written(tmp_path, "- &a {ask: A, results: {x: *a}}"))
