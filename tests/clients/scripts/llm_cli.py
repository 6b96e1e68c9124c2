"""The `llm` command, with the service as one of its extra OpenAI models."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

# It is installed in an environment of its own (requirements/clients.txt), which mypy does not
# check. The command imports it, too: one import is enough for all questions.
import openai.resources.chat  # type: ignore[import-not-found]  # noqa: F401
from llm.cli import cli  # type: ignore[import-not-found]

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
    options = [] if job.stream else ["--no-stream"]
    options += TOOLS if job.question == TOOL_QUESTION else []
    arguments = ["prompt", "-m", "kefu", "--no-log", *options, job.question]
    # A fork has all that the command imports, which is most of its processor time.
    process = multiprocessing.get_context("fork").Process(target=command, args=(arguments,))
    process.start()
    process.join()
    outcome.text = Path(FOLDER.name, "1").read_text(encoding="utf-8").removesuffix("\n")
    if process.exitcode:
        outcome.error = ["ExitCode"]
        outcome.status = process.exitcode
        outcome.message = Path(FOLDER.name, "2").read_text(encoding="utf-8")


def command(arguments: Sequence[str]) -> None:
    """Run `llm ARGUMENTS` with its output in the files 1 and 2, and end this process."""
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    for number in (1, 2):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(Path(FOLDER.name, str(number)), flags, 0o600), number)
    sys.argv = ["llm", *arguments]
    cli()


if __name__ == "__main__":
    os.environ |= {"LLM_USER_PATH": FOLDER.name, "OPENAI_API_KEY": "unused"}
    run(ask)
