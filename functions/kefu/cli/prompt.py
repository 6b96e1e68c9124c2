"""The prompt at a terminal: history, completion, several lines. Loads prompt_toolkit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import create_output

from kefu.cli.reading import unfinished

HISTORY = "chat_history"


class _Commands(Completer):
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


class Prompt:
    def __init__(self, commands: Mapping[str, str], status: Callable[[], str]) -> None:
        """`status` says what stands in the line at the bottom; empty: there is none."""
        # On standard error, so that standard output holds the answers alone.
        output = create_output(stdout=sys.stderr)
        self._session: PromptSession[str] = PromptSession(
            "> ",
            completer=_Commands(commands),
            history=_history(),
            multiline=Condition(self._unfinished),
            prompt_continuation="… ",
            bottom_toolbar=lambda: status() or None,
            output=output,
        )
        self._asking: PromptSession[str] = PromptSession(output=output)
        self.drawn: Callable[[], None] = lambda: None
        """Called when the prompt stands on the screen."""
        self._session.app.after_render += lambda _: self.drawn()

    def _unfinished(self) -> bool:
        return unfinished(self._session.default_buffer.text)

    async def next(self) -> str | None:
        """What was typed; None for Ctrl-D. Ctrl-C with something typed begins anew, else it raises
        KeyboardInterrupt.
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
        """Yes or no; Ctrl-D means no, and None is Ctrl-C."""
        try:
            said = await self._asking.prompt_async(f"{question} [y/N] ", handle_sigint=False)
        except EOFError:
            return False
        except KeyboardInterrupt:
            return None
        return said.strip().lower() in ("y", "yes")

    def refresh(self) -> None:
        """The status has changed."""
        self._session.app.invalidate()

    def abort(self) -> None:
        """Whoever waits in `next` gets None."""
        if self._session.app.is_running:
            self._session.app.exit(exception=EOFError)


def _history() -> History:
    """For this user only; none where no home can be written to."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    path = Path(home, "kefu", HISTORY)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
