"""The prompt of `kefu chat`, with history, completion and multi-line input, by prompt_toolkit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import create_output

from kefu.terminal.input import unfinished
from kefu.terminal.state import state_file

HISTORY_FILE = "chat_history"


class _Commands(Completer):
    """Completes the names of slash commands."""

    def __init__(self, commands: Mapping[str, str]) -> None:
        self._commands = commands

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text:
            for name, does in self._commands.items():
                if name.startswith(text[1:]):
                    yield Completion(f"/{name}", -len(text), display_meta=does)


class InputPrompt:
    """Reads messages and answers to yes-or-no questions from the terminal."""

    def __init__(self, commands: Mapping[str, str], status: Callable[[], str]) -> None:
        """`status` returns the text of the line at the bottom; empty: no such line."""
        # The prompt is on standard error, because standard output is only for answers.
        output = create_output(stdout=sys.stderr)
        self._session: PromptSession[str] = PromptSession(
            "> ",
            completer=_Commands(commands),
            history=_history(),
            multiline=Condition(lambda: unfinished(self._session.default_buffer.text)),
            prompt_continuation="… ",
            bottom_toolbar=lambda: status() or None,
            output=output,
        )
        self._question_session: PromptSession[str] = PromptSession(output=output)
        self.drawn: Callable[[], None] = lambda: None
        """Called each time the prompt has been drawn."""
        self._session.app.after_render += lambda _: self.drawn()

    async def next(self) -> str | None:
        """The input of the user; None after Ctrl-D.

        Ctrl-C clears the line. Raises KeyboardInterrupt if the line is already empty.
        """
        while True:
            try:
                return await self._session.prompt_async(handle_sigint=False)
            except EOFError:
                return None
            except KeyboardInterrupt:
                if not self._session.default_buffer.text:
                    raise

    async def ask(self, question: str) -> bool | None:
        """Ask a yes-or-no question. Ctrl-D is a no. Returns None after Ctrl-C."""
        try:
            reply = await self._question_session.prompt_async(
                f"{question} [y/N] ", handle_sigint=False
            )
        except EOFError:
            return False
        except KeyboardInterrupt:
            return None
        return reply.strip().lower() in ("y", "yes")

    def refresh(self) -> None:
        """Redraw the prompt after a change of the status."""
        self._session.app.invalidate()

    def abort(self) -> None:
        """Make a waiting call of `next` return None."""
        if self._session.app.is_running:
            self._session.app.exit(exception=EOFError)


def _history() -> History:
    """The history in a file that only this user can read; in memory if it cannot be written."""
    try:
        path = state_file(HISTORY_FILE)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
