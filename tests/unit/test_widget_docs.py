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
INTEGRITY = re.compile(r"sha256-([\w+/]{12})[\w+/]{31}=")
LANGUAGE = re.compile(r"chat-widget-(?:\$\{\w+\})+\.([0-9a-f]{12})\.json")


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

    found = {file.name for file in copy.iterdir()}
    texts = [script.decode()]
    modules: set[str] = set()
    for text in texts:  # a module has the hashes of those that it fetches
        for begin in set(INTEGRITY.findall(text)) - modules:
            modules.add(begin)
            version = re.sub(r"\W", "-", begin)
            [name] = [name for name in found if name.endswith(f".{version}.js")]
            texts.append((copy / name).read_text(encoding="utf-8"))
    assert len(modules) > 5
    [version] = LANGUAGE.findall(script.decode())
    assert {f"chat-widget-{part}ar.{version}.json" for part in ("", "answer-")} < found
    assert found == {file.name for file in (ROOT / "functions/kefu/web/static/widget").iterdir()}
