"""The `llm` command, with the service as one of its extra OpenAI models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.clients.scripts.jobs import TOOL_QUESTION, Job, Outcome, run

WEATHER = '''
def weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"
'''
TOOLS = ["--system", "Be short.", "--functions", WEATHER]

FOLDER = tempfile.TemporaryDirectory()
"""The settings of `llm`. It logs nothing: setting up a log takes it a second."""


def ask(job: Job, outcome: Outcome) -> None:
    """Run the command. The exit code of a failed command becomes the outcome's `status`."""
    names = {"model_id": "kefu", "model_name": "kefu", "api_base": job.base_url}
    model = {**names, "supports_tools": True}
    # JSON is YAML.
    Path(FOLDER.name, "extra-openai-models.yaml").write_text(json.dumps([model]))
    program = str(Path(sys.executable).with_name("llm"))
    options = [] if job.stream else ["--no-stream"]
    options += TOOLS if job.question == TOOL_QUESTION else []
    done = subprocess.run(
        [program, "prompt", "-m", "kefu", "--no-log", *options, job.question],
        env={**os.environ, "LLM_USER_PATH": FOLDER.name, "OPENAI_API_KEY": "unused"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    outcome.text = done.stdout.removesuffix("\n")
    if done.returncode:
        outcome.error = ["ExitCode"]
        outcome.status = done.returncode
        outcome.message = done.stderr


if __name__ == "__main__":
    run(ask)
