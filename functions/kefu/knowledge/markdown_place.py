"""Where the end of a Markdown text stands: in code, in text, or where parsers may disagree.

An answer is checked while it arrives, so its blocks are read a line at a time. Text counts as code
only if every parser of CommonMark reads it as code. All else is text: where a parser reads code,
only the characters of links are changed.
"""

from __future__ import annotations

import re

MAX_LINE_CHARS = 200
"""Characters of a line that are looked at."""

_MARKS = r"[\s>*+\d.)-]*"
"""Characters before the first word of a line: spaces and the marks of lists and quotes."""
_ONLY_MARKS = re.compile(_MARKS)
_BEGINS_WITH_TEXT = re.compile(_MARKS + r"[^\s>*+\d.)\[-]")
_HAS_BRACKET = re.compile(_BEGINS_WITH_TEXT.pattern + r".*(?<!\\)\[")
_TILDES = re.compile(_MARKS + "~~~")
_INDENTED = re.compile(r"[ >*+\d.)-]*?(?: {4}|\t)")


class Place:
    """The end of the text that was passed to `advance`."""

    def __init__(self) -> None:
        self.fence = ""
        """The indentation and the ticks of the block of code that is open."""
        self.has_open_ticks = False
        """Whether ticks without an end stand in the current paragraph."""
        self.has_tags = False
        """Whether a line of the block begins with a tag. The line may be a block of HTML."""
        self.is_lost = False
        """Whether a block may be open that not every parser sees."""
        self.line = ""
        """The current line, at most `MAX_LINE_CHARS` characters."""
        self._after_blank = True

    @property
    def may_hold_code(self) -> bool:
        """Whether a pair of ticks on this line is inline code."""
        return not (self.has_open_ticks or self.has_tags or self.is_lost)

    @property
    def may_be_code(self) -> bool:
        """Whether the text here may be code."""
        return not self.may_hold_code or _INDENTED.match(self.line) is not None

    @property
    def is_before_text(self) -> bool:
        """Whether only spaces and marks of lists and quotes stand on the line."""
        return _ONLY_MARKS.fullmatch(self.line) is not None

    @property
    def may_define(self) -> bool:
        """Whether `]:` here may end the label of a link definition, begun on this or an earlier
        line.
        """
        return _HAS_BRACKET.match(self.line) is None

    def opens(self, ticks: str) -> bool:
        """Whether ticks here, and no more in their line, open a block of code for each parser.

        Four spaces after an empty line are a list's or a block of code; else they may be text.
        """
        is_clean = not (self.has_tags or self.is_lost or self.line.strip(" "))
        if not is_clean or (len(self.line) > 3 and not self._after_blank):
            return False
        self.fence, self.has_open_ticks = self.line + ticks, False
        return True

    def in_block(self, line: str) -> bool | None:
        """Whether a line, known up to its beginning, belongs to the open block of code.

        None for a line that closes the block. If parsers of Markdown may disagree, the block ends,
        and the place is lost.
        """
        text = line.lstrip(" ").rstrip(" \t")
        indent = len(line) - len(line.lstrip(" "))
        ticks = self.fence.lstrip(" ")
        wanted = len(self.fence) - len(ticks)
        # A line of spaces and ticks is held until its end, but not for ever.
        is_cut = len(line) > MAX_LINE_CHARS and not line.strip(" \t`")
        if not is_cut:
            if not text or (indent >= wanted and (text.strip("`") or len(text) < len(ticks))):
                return True
            if indent == wanted:
                return None
        self.fence, self.is_lost = "", True
        return False

    def advance(self, text: str) -> None:
        *ended, last = (self.line + text).split("\n")
        for line in ended:
            self._look_at(line)
            self._after_blank = not line.strip(" \t")
            if self._after_blank:
                self.has_open_ticks = self.has_tags = False
        self._look_at(last)
        self.line = last[:MAX_LINE_CHARS]

    def _look_at(self, line: str) -> None:
        if self.fence:
            return
        is_too_long = len(line) > MAX_LINE_CHARS and not _BEGINS_WITH_TEXT.match(
            line[:MAX_LINE_CHARS]
        )
        self.is_lost = (
            self.is_lost or is_too_long or _TILDES.match(line[:MAX_LINE_CHARS]) is not None
        )
