"""The `llm` command, with the service as one of its extra OpenAI models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.clients.scripts.jobs import Job, Outcome, run


def ask(job: Job, outcome: Outcome) -> None:
    """A failed command is an outcome whose `status` is its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        model = {"model_id": "kefu", "model_name": "kefu", "api_base": job.base_url}
        # JSON is YAML.
        Path(folder, "extra-openai-models.yaml").write_text(json.dumps([model]))
        program = str(Path(sys.executable).with_name("llm"))
        options = [] if job.stream else ["--no-stream"]
        done = subprocess.run(
            [program, "prompt", "-m", "kefu", *options, job.question],
            env={**os.environ, "LLM_USER_PATH": folder, "OPENAI_API_KEY": "unused"},
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
