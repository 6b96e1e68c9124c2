"""P31, T9, T10: the Markdown export of a session is complete, and all text in it is inactive."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from kefu.sessions.store.model import CallRecord, Session, SessionId, StoredMessage
from kefu.web.admin.markdown import markdown
from tests.fakes.injections import INJECTIONS

ONE = SessionId("1" * 32)
XSS = Path(__file__).parents[4] / "widget/tests/data/brs-kb.json"
MORE = (
    "`",
    "```\n# out\n```",
    "a\r```\r<img src=x>",
    "````````",
    "~~~\n</code>",
    "![x](http://x/?q)",
    "[" * 10_000,  # JSON that is nested too deeply
)
ALLOWED = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "fence"),
    *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
}


def said(number: int, role: Any, text: str, status: Any = "ok") -> StoredMessage:
    return StoredMessage(number, ONE, role, text, status, 1_700_000_000.0 + number)


def call(number: int, **more: Any) -> CallRecord:
    made = CallRecord(
        session_id=ONE,
        message_id=1,
        number=number,
        attempt=1,
        created_at=1_700_000_001.0,
        request=None,
        response=None,
        meta="{}",
        finish_reason=None,
        stream_complete=False,
        ttft=None,
        duration=1.5,
        error=None,
    )
    return made._replace(**more)


@dataclass
class Read:
    """The page as a Markdown parser reads it."""

    kinds: set[str]
    inside: set[str]
    """The kinds of inline elements."""
    blocks: list[str]
    headings: list[str]
    lines: list[str]


def read(page: str) -> Read:
    tokens = MarkdownIt("commonmark").parse(page)
    inline = [token for token in tokens if token.type == "inline"]
    headings = [after.content for one, after in pairwise(tokens) if one.type == "heading_open"]
    return Read(
        kinds={token.type for token in tokens},
        inside={child.type for token in inline for child in token.children or ()},
        blocks=[token.content for token in tokens if token.type == "fence"],
        headings=headings,
        lines=[token.content for token in inline],
    )


def test_p31_calls_follow_their_message_with_sent_and_dropped_messages() -> None:
    meta = {
        "request_id": "r1",
        "again": 1,
        "attempts": [
            {"key": "a" * 12, "outcome": "http_429", "ms": 12.5, "rested": True},
            {"key": "b" * 12, "outcome": "ok", "ms": 300.0, "rested": False},
        ],
        "trimmed": {
            "kept": 3,
            "dropped": 3,
            "reasons": {"budget": 3},
            "tokens": 90,
            "limit": 100,
            "over_budget": True,
            "fallback": "no room",
            "left_out": [[1, 3, "budget"], [5, 6, "broken_tool_group"]],
        },
    }
    error = {"code": "gateway_timeout", "message": "too late"}
    calls = [
        call(1, error=json.dumps(error)),
        call(
            11,
            request=b'{"messages":[{"role":"user","content":"hi"}]}',
            response='{"choices":[]}',
            meta=json.dumps(meta),
            finish_reason="stop",
            stream_complete=True,
            ttft=0.25,
            prompt_tokens=41,
            completion_tokens=7,
        ),
        call(1, message_id=3, finish_reason="<b>", meta='{"purpose":"summary"}'),
    ]
    messages = [said(1, "user", "hi"), said(2, "assistant", "ho"), said(3, "user", "x", "failed")]
    page = read("".join(markdown(Session(ONE, "hi", "default", 0.0, 1.0), messages, calls)))
    assert page.headings == [
        f"Session {ONE}",
        "1. Visitor, 2023-11-14 22:13:21 UTC",
        "Call 1 for message 1",
        "Call 2 for message 1",
        "2. Assistant, 2023-11-14 22:13:22 UTC",
        "3. Visitor, 2023-11-14 22:13:23 UTC (failed)",
        "Call 1 for message 3",
    ]
    for line in (
        f"key {'a' * 12}: http_429 after 12.5 ms, cooling down since",
        "left out, no. 1 to 2 of the conversation: budget",
        "left out, no. 5 of the conversation: broken_tool_group",
        "90 of 100 used",
        "what must be sent is longer than that",
        "no summary was made: no room",
        "41 tokens asked, 7 answered",
        "first word after 0.25 s",
        "finished: stop",
        "for a summary of older messages",
        "Error: none.",
        "Sent: not kept, or there was nothing.",
    ):
        assert line in page.lines, line
    shown = [json.loads(block) for block in page.blocks if block.startswith("{")]
    assert shown[0] == error
    assert json.loads(calls[1].request or b"") in shown
    assert {"request_id": "r1", "again": 1} in shown
    assert "<b>" not in "".join(page.lines)


def test_t9_t10_every_text_is_complete_and_inside_a_code_block() -> None:
    hostile: list[str] = [*json.loads(XSS.read_text())["payloads"], *INJECTIONS, *MORE]
    for start in range(0, len(hostile), 50):
        texts = hostile[start : start + 50]
        error = json.dumps({"code": "x", "message": texts[0]})
        calls = [
            call(1, request=texts[0].encode(errors="replace"), response=texts[-1], error=error)
        ]
        roles = ("user", "assistant")
        messages = [said(n + 1, roles[n % 2], text) for n, text in enumerate(texts)]
        session = Session(ONE, texts[0][:40], "default", 0.0, 1.0)
        page = read("".join(markdown(session, messages, calls)))
        assert page.kinds <= ALLOWED
        assert page.inside <= {"text", "softbreak"}
        assert len(page.headings) == len(texts) + 2
        for text in texts:
            # As CommonMark specifies it: line ends and NUL are converted.
            plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
            assert f"{plain}\n" in page.blocks, repr(text)
