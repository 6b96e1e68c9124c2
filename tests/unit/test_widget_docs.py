"""The commands of docs/widget-security.md make a complete copy of the pinned widget."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = re.compile(r"chat-widget-(?:\$\{\w+\}|\w+)\.[0-9a-f]{12}\.js(?:on)?")


def test_c16_the_copy_of_a_pinned_widget_has_every_file_that_it_fetches(tmp_path: Path) -> None:
    if not (ROOT / "functions/kefu/web/static/widget/chat-widget.json").exists():
        pytest.skip("the widget is not built: make setup")
    text = (ROOT / "docs/widget-security.md").read_text(encoding="utf-8")
    [commands] = re.findall(r"```sh\n(mkdir -p site/kefu\n.*?)```", text, re.DOTALL)
    (tmp_path / "functions").symlink_to(ROOT / "functions")
    ran = subprocess.run(
        ["sh", "-ec", commands], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    shown = json.loads(ran.stdout)
    copy = tmp_path / "site/kefu"
    script = (copy / shown["file"]).read_bytes()
    digest = base64.b64encode(hashlib.sha384(script).digest()).decode()
    assert shown["integrity"] == f"sha384-{digest}"

    found = NAMES.findall(script.decode())
    fetched = {re.sub(r"\$\{\w+\}", "*", name) for name in found}
    assert {Path(name).suffix for name in fetched} == {".js", ".json"}  # parts, and languages
    built = ROOT / "functions/kefu/web/static/widget"
    for name in fetched:
        there = {file.name for file in copy.glob(name)}
        assert there
        assert there == {file.name for file in built.glob(name)}
