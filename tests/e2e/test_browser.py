"""A newcomer's first minute: `kefu serve`, no key, no upstream, a browser, a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes.browser import told_by
from tests.fakes.service import Service


def _ask(address: str, question: str) -> dict[str, Any]:
    """What a visitor sees who asks this on that page."""
    return told_by(Path(__file__).with_name("visitor.mjs"), address, question)


def test_newcomer_reads_a_streamed_answer_without_key_or_upstream() -> None:
    """C17, W8: the printed address shows the chat; a real model's words grow before the eyes."""
    with Service(upstream=None, keys=(), allowed_origins="") as service:
        seen = _ask(f"{service.url}/", "What is the capital of France?")
        assert service.stop() == 0

    assert seen["question"].endswith("What is the capital of France?")
    assert seen["button"] == "Send", seen
    assert seen["trouble"] == []
    assert seen["status"] == "The answer is complete"
    grown = [length for length in seen["lengths"] if length > 0]
    assert len(grown) >= 2, seen["lengths"]
    assert grown == sorted(grown), "text that was shown went away again"
    assert grown[-1] == len(seen["text"])
    assert seen["notice"], "the page must say who answers"
    assert seen["errors"] == []
