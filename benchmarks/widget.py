"""The widget in a real Chromium: what it costs its page, unused and used (W16, W17)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from statistics import median

from benchmarks.processes import ROOT
from benchmarks.relay import Row

SCRIPT = ROOT / "widget/bench/stream.mjs"


class NoBrowser(Exception):
    """Node.js or Chromium is not there, or the widget is not built."""


def widget(rounds: int, *, quick: bool) -> dict[str, Row]:
    node = shutil.which("node")
    if node is None:
        raise NoBrowser("The widget's bench needs Node.js and Chromium. Try: make parts")
    row: Row = {}
    for _ in range(rounds):
        command = [node, str(SCRIPT), *(["--quick"] if quick else [])]
        done = subprocess.run(
            command, cwd=ROOT / "widget", capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise NoBrowser("The widget's bench needs Chromium. Try: make parts\n" + done.stderr)
        for name, value in json.loads(done.stdout).items():
            row.setdefault(name, []).append(float(value))
    return {"widget": row}


def table(rows: Mapping[str, Row]) -> str:
    """One line a figure: the median of the runs."""
    lines = ["the widget, an answer of 200 chunks a second".ljust(54)]
    for row in rows.values():
        lines += [f"{name:54}{median(values):12.2f}" for name, values in row.items()]
    return "\n".join(line.rstrip() for line in lines)
