"""The output of a session: answers on standard output, everything else on standard error."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from kefu.agent.events import Action, Assistant, BudgetExceeded, Observation, SessionEvent
from kefu.terminal.clean import Cleaner, clean, clipped, one_line
from kefu.terminal.failure import error_line
from kefu.terminal.fitting import fitted, width_of

if TYPE_CHECKING:
    from kefu.agent.react import Piece, TurnResult
    from kefu.terminal.markdown import MarkdownStream

_MAX_SHOWN_CHARS = 100
"""Maximum characters that are shown of a tool's input, and of each line of its result."""
_MAX_RESULT_LINES = 6
"""Maximum lines that are shown of a tool's result. The log contains the whole result."""

_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33"}


def styled(text: str, style: str) -> str:
    """The text in a colour of `_STYLES`; unchanged for an unknown style."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style in _STYLES else text


def colourful(stream: TextIO) -> bool:
    """Whether the stream is a terminal with colours. NO_COLOR is respected: https://no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Terminal:
    """Displays a session to users.

    A pipe gets no Markdown and no remark before a tool call, only the text of answers.
    """

    def __init__(self, out: TextIO, err: TextIO, on_closed: Callable[[], object]) -> None:
        """`on_closed` is called if standard output was closed."""
        self._out = out
        self._err = err
        self._on_closed = on_closed
        self._live = out.isatty()
        self._coloured = colourful(err)
        self.without_tools = False
        """Whether all text outside of tags is the answer, so that a pipe gets it as it arrives."""
        self._stream: MarkdownStream | PlainStream | None = None
        self._kind = ""
        self._cleaner = Cleaner()
        self._text = ""
        """Output outside of tags, which may turn out to be the answer."""
        self._shown = False
        """Whether a part of the answer was shown."""
        self._at_start = True
        """Whether the cursor is at the start of a line on standard error."""

    def say(self, text: str, style: str = "") -> None:
        """Display a message for the user, on standard error."""
        self._settle()
        self._note(f"{fitted(clean(text), width_of(self._err))}\n", style)

    def warn(self, text: str) -> None:
        """Display a warning for the user: one line."""
        self.say(f"kefu: {text}", "yellow")

    def piece(self, piece: Piece) -> None:
        """Display a piece of streamed output."""
        if piece.kind != self._kind:
            self._flush()
            self._kind = piece.kind
        self._show(self._cleaner.feed(piece.text))

    def hear(self, event: SessionEvent) -> None:
        """Display an event. `show` is called for every event of the session."""
        match event.body:
            case Assistant():
                self._flush()
            case Action() as action:
                self._show_action(action)
            case Observation() as observation:
                self._show_observation(observation)
            case BudgetExceeded() as budget:
                self._show_budget(budget)
            case _:
                pass  # shown at the end of the turn, or caused by the user

    def asking(self, tool: str, tool_input: str) -> None:
        """Display the whole input before the user is asked, unless the action's line has it."""
        if one_line(tool_input, _MAX_SHOWN_CHARS) != tool_input.strip():
            self.say(tool_input, "green")

    def over(self, result: TurnResult) -> None:
        """Display the result of a turn."""
        self._settle()
        # The streamed answer is already written, unless its tags were malformed.
        if result.final_text and not self._shown:
            self._write(clean(result.final_text).rstrip("\n") + "\n")
        self._text, self._shown = "", False
        if result.status == "interrupted":
            self.say("(stopped)", "yellow")
        elif result.error:
            part = "the answer is incomplete. " if result.final_text else ""
            self.say(f"kefu: {part}{error_line(result.error)}", "red")

    def _show_action(self, action: Action) -> None:
        self._settle()
        if self._text.strip() and not self._live:
            self._note(f"{self._text.strip()}\n", "dim")
        self._text, self._shown = "", False
        line = f"→ {one_line(action.tool, 64)} {one_line(action.input, _MAX_SHOWN_CHARS)}"
        self._note(f"{line.rstrip()}\n", "green")

    def _show_observation(self, observation: Observation) -> None:
        self._settle()
        self._text, self._shown = "", False
        lines = clean(observation.content).rstrip("\n").split("\n")
        shown = "".join(
            f"  {clipped(line, _MAX_SHOWN_CHARS)}\n" for line in lines[:_MAX_RESULT_LINES]
        )
        if len(lines) > _MAX_RESULT_LINES:
            more = len(lines) - _MAX_RESULT_LINES
            shown += f"  … {more} more line{'s' if more > 1 else ''}\n"
        self._note(shown, "dim" if observation.ok else "yellow")

    def _show_budget(self, budget: BudgetExceeded) -> None:
        if budget.action == "warn":
            self.say(f"The prompt has {budget.prompt} tokens, more than {budget.limit}.", "yellow")
        elif budget.action in ("trim", "summarize"):
            dropped = budget.dropped or 0
            count = "1 message was" if dropped == 1 else f"{dropped} messages were"
            self.say(f"The prompt had {budget.prompt} tokens: {count} dropped.", "yellow")

    def _show(self, text: str) -> None:
        if not text:
            return
        if self._kind == "thought":
            self._note(text, "dim")
        elif self._kind in ("text", "answer"):
            if self._live or self.without_tools or self._kind == "answer":
                self._answer(text)
            elif self._kind == "text":
                self._text += text

    def _answer(self, text: str) -> None:
        if not self._shown and not text.strip():
            return
        if not self._at_start:
            self._note("\n", "")
        if self._stream is None:
            from kefu.terminal.markdown import MarkdownStream

            self._stream = MarkdownStream(self._out) if self._live else PlainStream(self._out)
        self._shown = True
        stream = self._stream
        self._guarded(lambda: stream.feed(text))

    def _flush(self) -> None:
        self._show(self._cleaner.end())
        self._kind = ""

    def _settle(self) -> None:
        """Finish the output in progress, so that both streams are at the start of a line."""
        self._flush()
        if stream := self._stream:
            self._stream = None
            self._guarded(stream.end)
        if not self._at_start:
            self._note("\n", "")

    def _note(self, text: str, style: str) -> None:
        try:
            self._err.write(styled(text, style) if self._coloured else text)
            self._err.flush()
        except OSError:  # the terminal was closed
            return
        self._at_start = text.endswith("\n")

    def _write(self, text: str) -> None:
        def work() -> None:
            self._out.write(text)
            self._out.flush()

        self._guarded(work)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self._note(f"kefu: standard output: {error.strerror}\n", "red")
            self._on_closed()


class PlainStream:
    """Writes an answer to a pipe as it arrives, without empty lines at its start and its end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._held = ""
        self._started = False

    def feed(self, text: str) -> None:
        text = self._held + (text if self._started else text.lstrip("\n"))
        shown = text.rstrip("\n")
        self._held, self._started = text[len(shown) :], True
        self._out.write(shown)
        self._out.flush()

    def end(self) -> None:
        self._out.write("\n")
        self._out.flush()


class JsonScreen:
    """Displays a session with `--json`, not on standard output, which is for events."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self.without_tools = False

    def hear(self, event: SessionEvent) -> None:
        """Does nothing: the events are written to standard output by a sink."""

    def warn(self, text: str) -> None:
        self.say(f"kefu: {text}")

    def piece(self, piece: Piece) -> None:
        """Does nothing: the `assistant` event has the whole text."""

    def asking(self, tool: str, tool_input: str) -> None:
        self.say(f"→ {tool} {tool_input}")

    def over(self, result: TurnResult) -> None:
        if result.error:
            self.say(f"kefu: {error_line(result.error)}")

    def say(self, text: str, style: str = "") -> None:
        try:
            self._err.write(f"{clean(text)}\n")
            self._err.flush()
        except OSError:  # standard error was closed
            return


Screen = Terminal | JsonScreen
