"""Renders Markdown on a terminal while it is streamed.

A complete block is printed once. Only the incomplete last block is redrawn, as far as it fits on
the screen. The module imports rich, so it is loaded with the first answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence
from typing import ClassVar, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Heading, Markdown
from rich.segment import Segment
from rich.theme import Theme

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONG_CODE = 60
"""Maximum lines of an incomplete code block. At this length, an open block is printed as it is."""
_REDRAW_SECONDS = 0.06
"""Seconds between two redraws of the incomplete block."""


_THEME = Theme({"markdown.code": "bold cyan"})
"""rich's own style has a black background, which looks wrong on a light terminal."""


def console(out: TextIO) -> Console:
    """A rich console that adds nothing to the text: no links (OSC 8), no emoji, no markup."""
    return Console(file=out, highlight=False, emoji=False, markup=False, theme=_THEME)


class Blocks:
    """Splits streamed Markdown into its top-level blocks."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial = ""
        self._fence = ""
        self._opening = ""

    def feed(self, piece: str) -> list[str]:
        """The blocks that are complete after this piece."""
        *lines, self._partial = (self._partial + piece).split("\n")
        return [block for line in lines for block in self._line(line)]

    @property
    def open(self) -> str:
        """The text of the incomplete last block."""
        return "\n".join([*self._lines, self._partial])

    def end(self) -> str:
        """The incomplete last block. The splitter is then empty."""
        rest, self._lines, self._partial, self._fence = self.open, [], "", ""
        return rest

    def _line(self, line: str) -> list[str]:
        finished: list[str] = []
        if self._fence:
            self._lines.append(line)
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
            elif len(self._lines) > _LONG_CODE:
                finished.append("\n".join([*self._lines, self._fence]))
                self._lines = [self._opening]
            return finished
        # An empty line ends a block, unless the next line is indented and continues a list item.
        if line.strip() and not line[0].isspace() and self._lines and not self._lines[-1].strip():
            finished.append("\n".join(self._lines))
            self._lines = []
        self._lines.append(line)
        if fence := _FENCE.match(line):
            self._fence, self._opening = fence[1], line
        return finished


class MarkdownStream:
    """Renders streamed Markdown. The display must be used inside of a running event loop."""

    def __init__(self, out: TextIO) -> None:
        self._console = console(out)
        self._blocks = Blocks()
        self._live: Live | None = None
        self._soon: asyncio.TimerHandle | None = None
        """The timer of the next redraw of the incomplete block."""

    def feed(self, piece: str) -> None:
        """Print the complete blocks and redraw the incomplete block."""
        for block in self._blocks.feed(piece):
            self._print(block)
        self._draw()

    def end(self) -> None:
        """Print the incomplete block. To be called at the end, or before other output."""
        self._print(self._blocks.end())

    def _print(self, block: str) -> None:
        self._undraw()
        if block.strip():
            self._console.print(_Block(block))
            self._console.print()

    def _draw(self) -> None:
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            return
        if self._live is None:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
            self._redraw()
        elif self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(_REDRAW_SECONDS, self._redraw)

    def _redraw(self) -> None:
        self._soon = None
        if self._live is not None:
            # If the output was closed, the next call of `feed` raises the error.
            with contextlib.suppress(OSError):
                room = max(1, self._console.size.height - 2)
                self._live.update(_Block(self._blocks.open, room), refresh=True)

    def _undraw(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._live is not None:
            self._live.update("", refresh=True)
            self._live.stop()
            self._live = None


class _Block:
    """Markdown without the empty lines that rich adds around some blocks.

    `most`: the number of last lines to render; 0: all lines.
    """

    def __init__(self, text: str, most: int = 0) -> None:
        self._markdown = _Markdown(text, code_theme="ansi_dark", hyperlinks=False)
        self._most = most

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [
            *map(_without_trailing_spaces, console.render_lines(self._markdown, options, pad=False))
        ]
        full = [at for at, line in enumerate(lines) if line]
        for line in lines[full[0] : full[-1] + 1][-self._most :] if full else ():
            yield from line
            yield Segment.line()


def _without_trailing_spaces(line: Sequence[Segment]) -> list[Segment]:
    """The line without trailing spaces, because a copied text would contain them."""
    parts = [*line]
    while parts and not parts[-1].text.strip():
        parts.pop()
    if parts:
        parts[-1] = Segment(parts[-1].text.rstrip(), parts[-1].style)
    return parts


class _LeftAlignedHeading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftAlignedHeading}
