"""The terminal chat of a new user: no key, no account, the small local model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kefu.upstream import local_model


def test_s6_one_question_without_a_key_is_answered_by_the_local_model(tmp_path: Path) -> None:
    """Without tools, because the rules for tools confuse a small model."""
    environment = {**os.environ, "KEFU_MODEL": local_model.NAME, "KEFU_MAX_OUTPUT_TOKENS": "60"}
    done = subprocess.run(
        [sys.executable, "-m", "kefu", "chat", "--once", "Say hello in one sentence."],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [log] = (tmp_path / "history").iterdir()
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    final = next(event for event in events if event["type"] == "final")
    assert done.stdout.strip() == final["content"]
    assert events[0]["meta"]["config"]["tools"] == []
