"""What a person sees of a session: the answer on standard output, all else on standard error."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from kefu.cli.clean import Cleaner, clean, clipped, one_line
from kefu.cli.failure import told
from kefu.cli.fitting import fitted, width_of
from kefu.events import Action, Assistant, Budget, Event, Observation
from kefu.lean_typing import Protocol

if TYPE_CHECKING:
    from kefu.cli.markdown import MarkdownStream
    from kefu.react import Piece, TurnResult

_WIDTH = 100
"""Characters of a tool's input that are shown."""
_LINES = 6
"""Lines of a tool's result that are shown; the log has all that the model got."""

_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33"}


class Screen(Protocol):
    def hear(self, event: Event) -> None:
        """Something happened; called for every event of the session."""
        ...

    def piece(self, piece: Piece) -> None:
        """The model said something more."""
        ...

    def asking(self, tool: str, given: str) -> None:
        """A person will be asked whether this tool may run, and must have seen its whole input."""
        ...

    def over(self, result: TurnResult) -> None:
        """A turn has ended."""
        ...

    def say(self, text: str, style: str = "") -> None:
        """A line for the person, on standard error."""
        ...


def styled(text: str, style: str) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style in _STYLES else text


def colourful(stream: TextIO) -> bool:
    """Whether it is a terminal that may be coloured: https://no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Terminal:
    """A `Screen` for people. Where standard output is no terminal it gets the answers alone."""

    def __init__(self, out: TextIO, err: TextIO, gone: Callable[[], object]) -> None:
        """`gone` is called when nobody reads standard output any more."""
        self._out = out
        self._err = err
        self._gone = gone
        self._live = out.isatty()
        self._coloured = colourful(err)
        self._markdown: MarkdownStream | None = None
        self._kind = ""
        self._cleaner = Cleaner()
        self._text = ""
        """What the model said outside of tags, as long as it may turn out to be the answer."""
        self._shown = False
        """Whether any of the answer was."""
        self._at_start = True
        """Of a line on standard error."""

    def say(self, text: str, style: str = "") -> None:
        self._settle()
        self._note(f"{fitted(clean(text), width_of(self._err))}\n", style)

    def piece(self, piece: Piece) -> None:
        if piece.kind != self._kind:
            self._flush()
            self._kind = piece.kind
        self._show(self._cleaner.feed(piece.text))

    def hear(self, event: Event) -> None:
        match event.body:
            case Assistant():
                self._flush()
            case Action() as action:
                self._called(action)
            case Observation() as observation:
                self._observed(observation)
            case Budget() as budget:
                self._counted(budget)
            case _:
                pass  # told where the turn ends, or asked for by the person

    def asking(self, tool: str, given: str) -> None:
        if one_line(given, _WIDTH) != given.strip():  # else it stands above
            self.say(given, "green")

    def over(self, result: TurnResult) -> None:
        self._settle()
        # On a terminal it was shown as it came, unless its tags were not where they belong.
        if result.final_text and not (self._live and self._shown):
            self._write(clean(result.final_text).rstrip("\n") + "\n")
        self._text, self._shown = "", False
        if result.status == "interrupted":
            self.say("(stopped)", "yellow")
        elif result.error:
            part = "the answer is incomplete. " if result.final_text else ""
            self.say(f"kefu: {part}{told(result.error)}", "red")

    def _called(self, action: Action) -> None:
        self._settle()
        if self._text.strip() and not self._live:
            self._note(f"{self._text.strip()}\n", "dim")
        self._text, self._shown = "", False
        said = f"→ {one_line(action.tool, 64)} {one_line(action.input, _WIDTH)}"
        self._note(f"{said.rstrip()}\n", "green")

    def _observed(self, observation: Observation) -> None:
        self._settle()
        self._text, self._shown = "", False
        lines = clean(observation.content).rstrip("\n").split("\n")
        shown = "".join(f"  {clipped(line, _WIDTH)}\n" for line in lines[:_LINES])
        if len(lines) > _LINES:
            more = len(lines) - _LINES
            shown += f"  … {more} more line{'s' if more > 1 else ''}\n"
        self._note(shown, "dim" if observation.ok else "yellow")

    def _counted(self, budget: Budget) -> None:
        if budget.action == "warn":
            self.say(f"The prompt has {budget.prompt} tokens, more than {budget.limit}.", "yellow")
        elif budget.action in ("trim", "summarize"):
            gone = budget.dropped or 0
            left_out = "1 message stays" if gone == 1 else f"{gone} messages stay"
            self.say(f"The prompt had {budget.prompt} tokens: {left_out} behind.", "yellow")

    def _show(self, text: str) -> None:
        if not text:
            return
        if self._kind == "thought":
            self._note(text, "dim")
        elif self._kind in ("text", "answer"):
            if self._live:
                self._answer(text)
            elif self._kind == "text":
                self._text += text

    def _answer(self, text: str) -> None:
        if not self._shown and not text.strip():
            return
        if not self._at_start:
            self._note("\n", "")
        if self._markdown is None:
            from kefu.cli.markdown import MarkdownStream

            self._markdown = MarkdownStream(self._out)
        self._shown = True
        stream = self._markdown
        self._guarded(lambda: stream.feed(text))

    def _flush(self) -> None:
        self._show(self._cleaner.end())
        self._kind = ""

    def _settle(self) -> None:
        """Everything that was begun stands as it will stay, and both streams are at a line's
        start.
        """
        self._flush()
        if stream := self._markdown:
            self._markdown = None
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
            self._gone()


class Aside:
    """A `Screen` beside programs: standard output is for the events alone."""

    def __init__(self, err: TextIO) -> None:
        self._err = err

    def hear(self, event: Event) -> None:
        """Standard output has it."""

    def piece(self, piece: Piece) -> None:
        """The events say it whole."""

    def asking(self, tool: str, given: str) -> None:
        self.say(f"→ {tool} {given}")

    def over(self, result: TurnResult) -> None:
        if result.error:
            self.say(f"kefu: {told(result.error)}")

    def say(self, text: str, style: str = "") -> None:
        try:
            self._err.write(f"{clean(text)}\n")
            self._err.flush()
        except OSError:  # nobody reads it
            return
