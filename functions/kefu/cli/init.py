"""`kefu init`: writes a commented kefu.toml, and an example of a file for `kefu test`."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from kefu.settings.example import example
from kefu.settings.loading import config_path

NEXT_STEPS = """\
Wrote {path}: every setting with a comment, none of them active yet.

Next:
  1. Set your API key. It does not go into the file. Without one, answers are
     quotations of the learnt pages (sample mode).
       export KEFU_API_KEYS=...
  2. In the file, list the pages that may use the chat:
       [chat]
       origins = ["https://www.example.com"]
  3. Check it, and start it:
       kefu doctor
       kefu serve
"""

QUESTIONS_FILE = "questions.yaml"

EXAMPLE_QUESTIONS = """\
# Questions and what their answers must be. To run them: kefu test questions.yaml
# All expectations: docs/testing.md.

every: # holds for every answer
  max_seconds: 30
  not: [as an AI language model, "[object Object]"]

cases:
  - name: greeting
    ask: Hello! Who are you?
    expect:
      language: en

  - name: opening hours
    turns:
      - ask: When are you open on Saturday?
        expect:
          regex: '\\d'
          # cites: /opening-hours
      - ask: And on Sunday?

  - name: other topics are refused
    ask: Which horse will win tomorrow?
    expect:
      refuses: true
      # judge: Refuses politely, and says what it can help with.
"""


def run(options: argparse.Namespace) -> int:
    """Write the file. Returns the exit code."""
    path = config_path()
    try:
        with path.open("w" if options.force else "x", encoding="utf-8") as file:
            file.write(example())
    except FileExistsError:
        sys.stderr.write(
            f"kefu: {path} exists and was not changed. To replace it: kefu init --force\n"
        )
        return 1
    except OSError as error:
        sys.stderr.write(f"kefu: {path} cannot be written: {error.strerror}\n")
        return 1
    sys.stdout.write(NEXT_STEPS.format(path=path))
    questions = path.with_name(QUESTIONS_FILE)
    with suppress(OSError), questions.open("x", encoding="utf-8") as file:
        file.write(EXAMPLE_QUESTIONS)
        sys.stdout.write(f"\n{questions} has questions for `kefu test`.\n")
    return 0
