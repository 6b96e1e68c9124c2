"""Parses the output of the model: an action, an answer, or a mistake that it can correct.

    output  := (thought | forged | text)* (action | final)? rest
    thought := "<thought>" any "</thought>"     ; unclosed: ends at the next <action or <final
    action  := "<action" WS attrs ">" input "</action>" | "<action" WS attrs "/>"
    attrs   := tool=("name"|'name') + others, ignored    ; name = [A-Za-z0-9_.-]{1,64}
    input   := raw up to the FIRST "</action>", trimmed, no entity decoding | one CDATA section
    final   := "<final>" raw up to the LAST "</final>" or the end of output
    forged  := "<observation>" any "</observation>"      ; written by the model: ignored

The first complete action or final is the result. An action without its end is malformed. Parsing
is a pure function, takes linear time, and never raises.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Mistake = Literal["unterminated_action", "missing_tool", "empty_final", "thought_only"]

_TAG = re.compile(r"<(thought>|action(?=[\s/>]|\Z)|final>|observation(?=[\s>]))")
_ENDS_THOUGHT = re.compile(r"<(?:action[\s/>]|final>)")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ATTRIBUTE = re.compile(r"""\s+([^\s=/<>"']{1,64})\s{0,8}=\s{0,8}(["'])""")
_OPEN_END = re.compile(r"\s*(/?)>")
_SPACE = re.compile(r"\s*")
_CDATA, _CDATA_END, _ACTION_END = "<![CDATA[", "]]>", "</action>"

# An opening tag has a maximum length, so that a text with many of them is parsed in linear time.
_MAX_ATTRIBUTES = 16
_MAX_VALUE = 1024


class ParsedAction(NamedTuple):
    """A complete tool call."""

    tool: str
    input: str
    output: str
    """The model's output up to the end of the action, without forged observations. The
    conversation keeps this text."""


class ParsedAnswer(NamedTuple):
    """An answer."""

    text: str
    implicit: bool
    """The output has no `<final>` tag: all text outside of tags is the answer."""


class Malformed(NamedTuple):
    """Output without a valid action or answer."""

    mistake: Mistake
    output: str
    """The model's output without forged observations."""


Parsed = ParsedAction | ParsedAnswer | Malformed


class _Finder:
    """Finds the next occurrence of a word; all searches together read each character once."""

    __slots__ = ("_from", "_next", "_text", "_word")

    def __init__(self, text: str, word: str) -> None:
        self._text, self._word = text, word
        self._from, self._next = 0, text.find(word)

    def __call__(self, start: int) -> int:
        """The position of the word at or after `start`; -1 if there is none.

        `start` may be smaller than in the last call by the length of a tag.
        """
        if start < self._from:
            near = self._text.find(self._word, start, self._from + len(self._word) - 1)
            return near if near >= 0 else self._next
        if self._next >= 0 and start > self._next:
            self._next = self._text.find(self._word, start)
        self._from = start
        return self._next


class _Open(NamedTuple):
    """The opening tag of an action."""

    tool: str
    """Name of the tool; empty if the name is missing or invalid."""
    end: int
    """Position after the tag."""
    closed: bool
    """The tag ends in `/>`."""


def parse(text: str) -> Parsed:
    """The first complete action or answer in one response of the model, else the mistake."""
    return _Parser(text).result()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._mistake: Mistake | None = None
        self._thought = False
        self._plain: list[str] = []
        """Text outside of all tags."""
        self._kept: list[str] = []
        words = ("</thought>", "</observation>", _ACTION_END, _CDATA_END, ">")
        self._find = {word: _Finder(text, word) for word in words}

    def result(self) -> Parsed:
        text, at = self._text, 0
        while tag := _TAG.search(text, at):
            self._pass(at, tag.start())
            start, at = tag.span()
            if tag[1] == "final>":
                return self._final(start, at)
            if tag[1] == "action":
                if action := self._action(start, at):
                    return action
                self._kept.append(tag[0])
            elif tag[1] == "thought>":
                self._thought = True
                at = self._skip("</thought>", at)
                self._kept.append(text[start:at])
            else:
                at = self._skip("</observation>", at)
        self._pass(at, len(text))
        return self._without_end()

    def _pass(self, start: int, stop: int) -> None:
        self._plain.append(self._text[start:stop])
        self._kept.append(self._text[start:stop])

    def _skip(self, end: str, at: int) -> int:
        """The position after the end tag. The position before the next action or answer, without an
        end tag."""
        position = self._find[end](at)
        if position >= 0:
            return position + len(end)
        following = _ENDS_THOUGHT.search(self._text, at)
        return following.start() if following else len(self._text)

    def _final(self, start: int, at: int) -> Parsed:
        end = self._text.rfind("</final>", at)
        answer = self._text[at : end if end >= 0 else len(self._text)].strip()
        if answer:
            return ParsedAnswer(answer, implicit=False)
        return Malformed("empty_final", "".join((*self._kept, self._text[start:])))

    def _action(self, start: int, at: int) -> ParsedAction | None:
        opened = self._open(at)
        if opened is None or not opened.tool:
            cut = opened is None and self._find[">"](at) < 0
            self._note("unterminated_action" if cut else "missing_tool")
            return None
        tool_input, end = ("", opened.end) if opened.closed else self._input(opened.end)
        if end < 0:
            self._note("unterminated_action")
            return None
        output = "".join((*self._kept, self._text[start:end]))
        return ParsedAction(opened.tool, tool_input, output)

    def _note(self, mistake: Mistake) -> None:
        self._mistake = self._mistake or mistake

    def _open(self, at: int) -> _Open | None:
        """Parse the rest of an opening tag, after `<action`; None if the tag is invalid."""
        tool = None
        for _ in range(_MAX_ATTRIBUTES):
            attribute = _ATTRIBUTE.match(self._text, at)
            if not attribute:
                break
            value = attribute.end()
            end = self._text.find(attribute[2], value, value + _MAX_VALUE)
            if end < 0:
                return None
            if attribute[1] == "tool" and tool is None:
                tool = self._text[value:end]
            at = end + 1
        end_of_tag = _OPEN_END.match(self._text, at)
        if not end_of_tag:
            return None
        name = tool if tool and _NAME.fullmatch(tool) else ""
        return _Open(name, end_of_tag.end(), bool(end_of_tag[1]))

    def _input(self, start: int) -> tuple[str, int]:
        """Returns the input and the position after the action; -1 if the action has no end."""
        text = self._text
        space = _SPACE.match(text, start)
        inner = space.end() if space else start
        if text.startswith(_CDATA, inner):
            inner += len(_CDATA)
            close = self._find[_CDATA_END](inner)
            after = _SPACE.match(text, close + len(_CDATA_END)) if close >= 0 else None
            if after and text.startswith(_ACTION_END, after.end()):
                return text[inner:close], after.end() + len(_ACTION_END)
        end = self._find[_ACTION_END](start)
        return (text[start:end].strip(), end + len(_ACTION_END)) if end >= 0 else ("", -1)

    def _without_end(self) -> Parsed:
        plain = "".join(self._plain)
        for stray in ("</thought>", "</final>"):
            plain = plain.replace(stray, "")
        output = "".join(self._kept)
        if self._mistake:
            return Malformed(self._mistake, output)
        if answer := plain.strip():
            return ParsedAnswer(answer, implicit=True)
        return Malformed("thought_only" if self._thought else "empty_final", output)
