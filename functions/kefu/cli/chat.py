"""`kefu chat`: reads messages and prints answers until the input ends."""

from __future__ import annotations

import argparse
import asyncio
import sys

from kefu.cli.arguments import chat_flags
from kefu.terminal.flags import WrongUse
from kefu.terminal.pipes import forget_broken_pipes
from kefu.terminal.repl import Repl


def run(options: argparse.Namespace) -> int:
    """Run the chat until it ends. Returns the exit code. Raises WrongUse."""
    flags = chat_flags(options)
    if problem := flags.problem():
        raise WrongUse(problem)
    interactive = not flags.once and sys.stdin.isatty() and sys.stderr.isatty()
    question = flags.question
    if flags.once:
        # `git diff | kefu chat --once "Review this."` sends both, the question last.
        piped = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
        question = "\n\n".join(filter(None, (piped.decode("utf-8", "replace").strip(), question)))
        if not question.strip():
            raise WrongUse("--once needs a question, as an argument or on standard input")
    _replace_errors()
    try:
        return asyncio.run(Repl(flags).run(question, at_prompt=interactive))
    finally:
        forget_broken_pipes()


def _replace_errors() -> None:
    """Replace characters that the terminal cannot show, instead of raising an error."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
