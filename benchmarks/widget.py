"""The cost of the widget for its page in Chromium, and its frames in WebKit (W16, W17)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from statistics import median

from benchmarks.processes import ROOT
from benchmarks.relay import Row

BENCH = ROOT / "widget/bench"
DEEP_CHAT = BENCH / "peers/node_modules/deep-chat"
INSTALL = "deep-chat is not installed; for its column: make peers"
CASES = {
    "widget": ("stream.mjs", "stream"),
    "widget, 10,000 chunks": ("stream.mjs", "long"),
    "widget, 1,000 messages before": ("stream.mjs", "talk"),
    "widget, slow network": ("phone.mjs",),
    "widget, opened": ("open.mjs",),
    "widget, WebKit": ("frames.mjs",),
    "deep-chat": ("stream.mjs", "deep-chat"),
}


class NoBrowser(Exception):
    """Node.js or Chromium is missing, or the widget is not built."""


def widget(rounds: int, *, quick: bool) -> dict[str, Row]:
    node = shutil.which("node")
    if node is None:
        raise NoBrowser("The widget's bench needs Node.js and Chromium. Try: make parts")
    rows: dict[str, Row] = {}
    for _ in range(rounds):
        for name, (script, *case) in CASES.items():
            if name == "deep-chat" and not DEEP_CHAT.exists():
                continue
            if name == "widget, WebKit" and shutil.which("WebKitWebDriver") is None:
                continue
            row = rows.setdefault(name, {})
            for figure, value in _figures(node, script, *case, quick=quick).items():
                row.setdefault(figure, []).append(value)
    return rows


def _figures(node: str, script: str, *case: str, quick: bool) -> dict[str, float]:
    command = [node, str(BENCH / script), *case, *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=ROOT / "widget", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoBrowser("The widget's bench needs Chromium. Try: make parts\n" + done.stderr)
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def table(rows: Mapping[str, Row]) -> str:
    """A row for each figure and a column for each case; values are medians of the runs."""
    titles = dict.fromkeys(figure for row in rows.values() for figure in row)
    widths = [max(12, len(name) + 2) for name in rows]
    lines = [" " * 50 + "".join(map(str.rjust, rows, widths))]
    for title in titles:
        values = (row.get(title) for row in rows.values())
        cells = ("-" if v is None else f"{median(v):.2f}" for v in values)
        lines.append(title.ljust(50) + "".join(map(str.rjust, cells, widths)))
    if "deep-chat" not in rows:
        lines.append(INSTALL)
    return "\n".join(line.rstrip() for line in lines)
