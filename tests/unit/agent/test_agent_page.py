"""The examples of docs/agent.md work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kefu.agent import grammar
from tests.fakes.behaviours import answer
from tests.fakes.upstream import ScriptedUpstream

PAGE = (Path(__file__).parents[3] / "docs/agent.md").read_text(encoding="utf-8")

SHOP = """
from __future__ import annotations

def price(article: str) -> str:
    'Tell the price of an article.'
    return f"{article}: 9 euros"
"""


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    chat, plain, log = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "shop.py").write_text(SHOP)
    with ScriptedUpstream() as upstream:
        upstream.script("*", answer('<action tool="stock">red umbrella</action>'), asking="any red")
        upstream.script("*", answer("<final>Yes, ", "three.</final>"), asking="3 left")
        chat = chat.replace("https://api.longcat.chat/openai/v1", upstream.base_url)
        found = 'session_id = next(Path("history").iterdir()).stem\n'
        done = subprocess.run(
            [sys.executable, "-c", chat + found + log + plain],
            cwd=tmp_path,
            env={"API_KEY": "key"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    said, result, *events, priced = done.stdout.splitlines()
    assert priced == "price red umbrella: 9 euros"
    assert said == "red umbrellaYes, three."
    assert re.fullmatch(r" ok \d+ \['stock', None\]", result)
    assert [event.split()[0] for event in events] == ["2", "4"]


def test_the_grammar_of_the_page_is_that_of_the_module() -> None:
    [shown] = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    written = "\n".join(line.strip() for line in (grammar.__doc__ or "").splitlines())
    assert shown in written
