"""G31: the fields of an answer's file."""

from __future__ import annotations

import pytest

from kefu.sessions.people.answer_files import as_file, from_file
from kefu.sessions.store.answers import WrittenAnswer


def read(front: str) -> WrittenAnswer:
    return from_file(f"---\n{front}\n---\n\nYes.", "hats.md", 1.0)


@pytest.mark.parametrize(
    ("written", "question"),
    [
        ("Do you sell hats?", "Do you sell hats?"),
        ("Do hats: cost # more?", "Do hats: cost # more?"),
        ('"Hats?"', "Hats?"),
        ('"Hats?" # a comment', "Hats?"),
        (r'"\"Hats\" #1?"  # a comment', '"Hats" #1?'),
        ('"Hats" or "caps"?', '"Hats" or "caps"?'),
        ("'Hats?'", "Hats?"),
        ("'What''s the price?' # a comment", "What's the price?"),
        ("'Tis a hat?", "'Tis a hat?"),
        ('"no end', '"no end'),
    ],
)
def test_g31_a_field_may_have_quotes_and_a_comment(written: str, question: str) -> None:
    assert read(f"question: {written}").question == question


@pytest.mark.parametrize("sign", [">", "|", "&", "*", "[", "{"])
def test_g31_yaml_that_is_no_text_is_refused(sign: str) -> None:
    with pytest.raises(ValueError, match=r"line 3: question: put the text in quotes"):
        read(f"author: Anna\nquestion: {sign}\n  Do you sell hats?")


def test_g31_a_text_on_two_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="line 3: a field is one line"):
        read("question: Do you\n  sell hats?")


def test_g31_other_fields_may_be_any_yaml() -> None:
    assert read("tags: [hats]\nquestion: Hats?\n  # a comment\nmore:\n  - x").question == "Hats?"


def test_g31_a_written_file_is_read_back() -> None:
    answer = WrittenAnswer("answer-1", '> it\'s "#1" # here?', "Yes.", "[A]", created_at=1.0)
    assert from_file(as_file(answer), "a.md", 0.0)[:5] == answer[:5]
