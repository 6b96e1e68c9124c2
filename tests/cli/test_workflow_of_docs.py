"""S35, S36: the workflow in docs/testing.md gives the comment that the page shows."""

from __future__ import annotations

import re
import shlex
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Kefu
from tests.fakes.behaviours import Exchange, answer
from tests.fakes.upstream import ScriptedUpstream

PAGE = (Path(__file__).parents[2] / "docs/testing.md").read_text(encoding="utf-8")
WORKFLOW: dict[Any, Any]
[WORKFLOW] = [
    yaml.safe_load(block)
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    if "runs-on" in block
]
[COMMENT] = re.findall(r"```markdown\n(.*?)```", PAGE, re.DOTALL)
PRESETS = '[presets.a]\nsystem_prompt = "Preset A."\n[presets.b]\nsystem_prompt = "Preset B."\n'
QUESTIONS = """\
cases:
  - {name: delivery to Norway, ask: "How long to Norway?", pass: 0.8, expect: {contains: nine days}}
  - {name: opening hours, ask: "When are you open?", expect: {contains: "16:00"}}
"""


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d s", "0.0 s", text)


@pytest.mark.slow
def test_the_workflow_of_the_page_writes_the_comment_that_the_page_shows(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """The model refuses all attackers; since the last run of main, it forgets the days at times."""
    (folder / "kefu.toml").write_text(PRESETS)
    (folder / "questions.yaml").write_text(QUESTIONS)
    (folder / "pages").mkdir()
    (folder / "pages" / "delivery.md").write_text("# Delivery\n\nNorway: nine days.\n")
    assert kefu("learn", "pages").code == 0
    forgetful = count()

    async def answers(exchange: Exchange) -> None:
        prompt = "".join(str(m["content"]) for m in exchange.body["messages"])
        said = "[0] The pages of this site do not answer that."
        if "<rubric>" in prompt:
            said = '{"pass": true}'
        elif "How long to Norway?" in prompt:
            forgets = "Preset B." in prompt and next(forgetful) >= 8
            said = "About a week [1]." if forgets else "It takes nine days [1]."
        elif "When are you open?" in prompt:
            said = "Until 16:00 [1]."
        await answer(said)(exchange)

    upstream.script("*", answers)
    commands = [step["run"] for step in WORKFLOW["jobs"]["test"]["steps"] if "run" in step]
    [command] = [run for run in commands if run.startswith("kefu test")]
    _, *arguments = shlex.split(command)
    assert {"--repeat", "--preset", "--redteam"} < {*arguments}
    of_main = kefu(*(argument for argument in arguments if argument != "--redteam"))
    assert of_main.code == 0, of_main.out
    ran = kefu(*arguments)
    assert ran.code == 1, ran.err
    assert without_times((folder / "answers.md").read_text()) == without_times(COMMENT)
    assert "pull_request" in WORKFLOW[True]  # YAML 1.1 reads `on` as true
