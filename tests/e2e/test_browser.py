"""The small local model: `kefu serve` without a key, a browser, and a question."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from kefu.upstream import local_model
from tests.fakes.browser import told_by
from tests.fakes.service import Service


def _ask(address: str, question: str) -> dict[str, Any]:
    """Ask the question on that page. Returns the visible answer."""
    return told_by(Path(__file__).with_name("visitor.mjs"), address, question)


def _models_of(service: Service) -> list[int]:
    """The processes that the service has started (Linux)."""
    process = service.process.pid
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _ends(process: int, within: float = 5.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_newcomer_reads_a_streamed_answer_without_key_or_upstream() -> None:
    """C17, W8: the printed address shows the chat, and a real model's answer grows on the page."""
    with Service(upstream=None, keys=(), allowed_origins="", model=local_model.NAME) as service:
        # The model draws its words, and once in many answers strange ones.
        answers = (_ask(f"{service.url}/", "What is the capital of France?") for _ in range(3))
        seen = next((one for one in answers if "Paris" in one["text"]), None)
        [model] = _models_of(service)
        assert service.stop() == 0
        assert _ends(model)
        assert "Loading SmolLM2" in service.stderr

    assert seen, "the model does not know it three times"
    assert seen["question"].endswith("What is the capital of France?")
    assert seen["button"] == "Send", seen
    assert seen["trouble"] == []
    assert seen["status"] == "The answer is complete"
    grown = [length for length in seen["lengths"] if length > 0]
    assert len(grown) >= 2, seen["lengths"]
    assert grown == sorted(grown), "text that was shown went away again"
    assert seen["notice"], "the page must say who answers"
    assert seen["errors"] == []


def test_model_ends_with_its_server_even_when_that_is_killed() -> None:
    with Service(upstream=None, keys=(), model=local_model.NAME) as service:
        [model] = _models_of(service)
        service.kill()
        assert _ends(model)
