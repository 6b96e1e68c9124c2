"""Lines on a terminal are broken between words, also at 60 columns."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from kefu.terminal.fitting import fitted

TEXT = """\
  export   FILE: write the session to a file, .md .txt .json or .jsonl
The prompt has 812 tokens, more than the 800 that were to be told of.
short"""


def test_continuation_lines_are_indented_to_their_column() -> None:
    assert fitted(TEXT, 40).split("\n") == [
        "  export   FILE: write the session to a",
        "           file, .md .txt .json or",
        "           .jsonl",
        "The prompt has 812 tokens, more than the",
        "  800 that were to be told of.",
        "short",
    ]
    assert fitted(TEXT, sys.maxsize) == fitted(TEXT, 70) == TEXT


@given(st.text("ab  \n", max_size=60), st.integers(1, 30))
def test_no_word_is_lost_or_changed(text: str, width: int) -> None:
    assert fitted(text, width).split() == text.split()
