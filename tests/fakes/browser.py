"""Runs a script in Chromium, and returns its result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


def told_by(script: Path, *arguments: str, timeout: float = 150) -> dict[str, Any]:
    """The JSON result of `script`. Skips the test if Chromium is not installed."""
    node = shutil.which("node")
    if node is None or not (ROOT / "widget/node_modules/playwright-core").is_dir():
        pytest.skip("needs Node.js and the widget's tools: make setup")
    if not any(map(shutil.which, (os.environ.get("CHROMIUM", ""), *CHROMIUMS))):
        pytest.skip("needs Chromium: make parts")
    visit = subprocess.run(
        [node, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert visit.returncode == 0, visit.stderr
    told: dict[str, Any] = json.loads(visit.stdout)
    return told
