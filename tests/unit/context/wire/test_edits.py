"""User messages in a row become one, in every format; tool results stay apart."""

from __future__ import annotations

from typing import Any

import pytest

from kefu.context.wire.edits import alternating
from kefu.messages import Message

PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
INPUT = {"type": "input_image", "image_url": "https://example.com/a.png"}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "5"}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def answer(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def part(text: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": text}


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        ([], []),
        ([user("a")], [user("a")]),
        ([user("a"), user("b")], [user("a\n\nb")]),
        ([user("a"), user("b"), user("c")], [user("a\n\nb\n\nc")]),
        ([user("a"), answer("b"), user("c")], [user("a"), answer("b"), user("c")]),
        ([answer("a"), answer("b")], [answer("a"), answer("b")]),
        ([answer("a"), user("b"), user("c")], [answer("a"), user("b\n\nc")]),
        ([user("a", name="A"), user("b", name="B")], [user("a\n\nb", name="B")]),
        ([user("a"), user([PICTURE])], [user([part("a"), PICTURE])]),
        ([user([PICTURE]), user("a")], [user([PICTURE, part("a")])]),
        ([user([part("a")]), user([part("b")])], [user([part("a"), part("b")])]),
        ([user("a"), user([INPUT])], [user([part("a", "input_text"), INPUT])]),
        ([user([RESULT]), user("a")], [user([RESULT]), user("a")]),
        ([user("a"), user([part("b"), RESULT])], [user("a"), user([part("b"), RESULT])]),
        (
            [Message("user", "a"), Message("user", "b"), Message("assistant", "c")],
            [Message("user", "a\n\nb"), Message("assistant", "c")],
        ),
    ],
)
def test_user_messages_in_a_row_become_one(given: list[Any], joined: list[Any]) -> None:
    before = [dict(one) if isinstance(one, dict) else one for one in given]
    assert alternating(given) == joined
    assert given == before
