"""`kefu chat`: questions in, answers out, until there are no more."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.cli.arguments import ChatFlags
from kefu.cli.exits import INTERRUPTED
from kefu.cli.pipes import forget_broken_pipes
from kefu.cli.reading import whole_input
from kefu.cli.repl import OpenTalk, Repl
from kefu.cli.talk import WrongUse

if TYPE_CHECKING:
    from kefu.events import SessionId

_OPTIONAL = ("aiohttp", "prompt_toolkit", "pydantic", "rich")
_MISSING = (
    "kefu: the terminal chat needs packages that are not installed: pip install 'kefu[cli]'\n"
)


def chat(
    flags: ChatFlags, open_talk: Callable[[], OpenTalk], new_id: Callable[[], SessionId]
) -> int:
    """Until the end of the session; the exit code.

    `open_talk` is called in a thread, behind the prompt: it imports what takes a while.
    """
    if problem := flags.problem():
        return _wrong(problem)
    interactive = not flags.once and sys.stdin.isatty() and sys.stderr.isatty()
    question = flags.question
    if flags.once:
        if question is None:
            question = "" if sys.stdin.isatty() else whole_input()
        if not question.strip():
            return _wrong("--once needs a question, as an argument or on standard input")
    _replace_errors()
    try:
        return asyncio.run(Repl(flags, open_talk, new_id()).run(question, at_prompt=interactive))
    except WrongUse as error:
        return _wrong(str(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OPTIONAL:
            raise
        sys.stderr.write(_MISSING)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        forget_broken_pipes()


def _wrong(problem: str) -> int:
    sys.stderr.write(f"kefu: {problem}\n")
    return 2


def _replace_errors() -> None:
    """A terminal that cannot show a character is no reason to end."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
