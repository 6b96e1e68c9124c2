"""Parses the ready replies of operators: a Markdown text whose headings are their names."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_REPLIES, MAX_NAME, MAX_TEXT = 20, 60, 4000
"""Replies, and characters of a name and of a text, which is as long as a line of an operator."""

_HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*$", re.MULTILINE)


class ReadyReply(NamedTuple):
    name: str
    text: str


def replies_in(text: str) -> list[ReadyReply]:
    """Raises ValueError, with a sentence for the owner."""
    before, *parts = _HEADING.split(text)
    named = zip(parts[::2], parts[1::2], strict=True)
    replies = [ReadyReply(name, words.strip()) for name, words in named]
    if before.strip():
        raise ValueError(
            "must begin with a heading, such as # Greeting, which names the text below"
        )
    if len(replies) > MAX_REPLIES:
        raise ValueError(f"must be at most {MAX_REPLIES} replies; it has {len(replies)}")
    for one in replies:
        if not (0 < len(one.name) <= MAX_NAME and 0 < len(one.text) <= MAX_TEXT):
            raise ValueError(
                f"must have a name of at most {MAX_NAME} characters for each reply, and a text of "
                f"at most {MAX_TEXT} below it: not so at {one.name[:MAX_NAME]!r}"
            )
    return replies
