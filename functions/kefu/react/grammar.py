"""What the model's words mean: an action, an answer, or a mistake that it can mend.

    output  := (thought | forged | text)* (action | final)? rest
    thought := "<thought>" any "</thought>"     ; unclosed: ends at the next <action or <final
    action  := "<action" WS attrs ">" input "</action>" | "<action" WS attrs "/>"
    attrs   := tool=("name"|'name') + others, ignored    ; name = [A-Za-z0-9_.-]{1,64}
    input   := raw up to the FIRST "</action>", trimmed, no entity decoding | one CDATA section
    final   := "<final>" raw up to the LAST "</final>" or the end of output
    forged  := "<observation>" any "</observation>"      ; written by the model: ignored

The first complete action or final wins. An unclosed action is never one. Pure, linear in the
length of the text, and no text makes it raise.
"""

from __future__ import annotations

import re
from typing import Literal

from kefu.lean_typing import NamedTuple

Mistake = Literal["unterminated_action", "missing_tool", "empty_final", "thought_only"]

_TAG = re.compile(r"<(thought>|action(?=[\s/>]|\Z)|final>|observation(?=[\s>]))")
_ENDS_THOUGHT = re.compile(r"<(?:action[\s/>]|final>)")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ATTRIBUTE = re.compile(r"""\s+([^\s=/<>"']{1,64})\s{0,8}=\s{0,8}(["'])""")
_OPEN_END = re.compile(r"\s*(/?)>")
_SPACE = re.compile(r"\s*")
_CDATA, _CDATA_END, _ACTION_END = "<![CDATA[", "]]>", "</action>"

# An opening tag is bounded, so that a text full of them is read in linear time.
_MAX_ATTRIBUTES = 16
_MAX_VALUE = 1024


class Action(NamedTuple):
    tool: str
    input: str
    said: str
    """The model's words up to the end of the action, without observations it made up: what goes
    back into the conversation."""


class Final(NamedTuple):
    text: str
    implicit: bool
    """The model wrote no tags: all it said, thoughts apart, is the answer."""


class Malformed(NamedTuple):
    mistake: Mistake
    said: str


Parsed = Action | Final | Malformed


class _Finder:
    """Where a word stands next, looking at each character once however often it is asked."""

    __slots__ = ("_found", "_from", "_text", "_word")

    def __init__(self, text: str, word: str) -> None:
        self._text, self._word = text, word
        self._from, self._found = 0, text.find(word)

    def __call__(self, start: int) -> int:
        """-1 if it stands nowhere behind. `start` may go back, by the length of a tag."""
        if start < self._from:
            near = self._text.find(self._word, start, self._from + len(self._word) - 1)
            return near if near >= 0 else self._found
        if self._found >= 0 and start > self._found:
            self._found = self._text.find(self._word, start)
        self._from = start
        return self._found


class _Open(NamedTuple):
    """The opening tag of an action."""

    tool: str
    """Empty: none is named, or not properly."""
    end: int
    closed: bool
    """It ends in `/>`."""


def parse(text: str) -> Parsed:
    """The first complete action or final of one response."""
    return _Reading(text).result()


class _Reading:
    def __init__(self, text: str) -> None:
        self._text = text
        self._mistake: Mistake | None = None
        self._thought = False
        self._plain: list[str] = []
        """What stands outside of all tags."""
        self._said: list[str] = []
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
                self._said.append(tag[0])
            elif tag[1] == "thought>":
                self._thought = True
                at = self._skip("</thought>", at)
                self._said.append(text[start:at])
            else:
                at = self._skip("</observation>", at)
        self._pass(at, len(text))
        return self._without_end()

    def _pass(self, start: int, stop: int) -> None:
        self._plain.append(self._text[start:stop])
        self._said.append(self._text[start:stop])

    def _skip(self, end: str, at: int) -> int:
        """Behind the end of a block; without one it reaches up to the next action or final."""
        found = self._find[end](at)
        if found >= 0:
            return found + len(end)
        following = _ENDS_THOUGHT.search(self._text, at)
        return following.start() if following else len(self._text)

    def _final(self, start: int, at: int) -> Parsed:
        end = self._text.rfind("</final>", at)
        answer = self._text[at : end if end >= 0 else len(self._text)].strip()
        if answer:
            return Final(answer, implicit=False)
        return Malformed("empty_final", "".join((*self._said, self._text[start:])))

    def _action(self, start: int, at: int) -> Action | None:
        opened = self._open(at)
        if opened is None or not opened.tool:
            cut = opened is None and self._find[">"](at) < 0
            self._note("unterminated_action" if cut else "missing_tool")
            return None
        given, end = ("", opened.end) if opened.closed else self._input(opened.end)
        if end < 0:
            self._note("unterminated_action")
            return None
        said = "".join((*self._said, self._text[start:end]))
        return Action(opened.tool, given, said)

    def _note(self, mistake: Mistake) -> None:
        self._mistake = self._mistake or mistake

    def _open(self, at: int) -> _Open | None:
        """Its attributes and end; None if this is no opening tag."""
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
        """The input, and where the action ends; -1: nowhere."""
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
        said = "".join(self._said)
        if self._mistake:
            return Malformed(self._mistake, said)
        if answer := plain.strip():
            return Final(answer, implicit=True)
        return Malformed("thought_only" if self._thought else "empty_final", said)
