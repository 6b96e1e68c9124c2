"""Splits streamed model output into thought, action and answer, to display it as it arrives.

The display may be wrong for malformed output. `grammar.parse` decides, once the output is complete.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

PieceKind = Literal["text", "thought", "action", "answer"]
_State = Literal["text", "thought", "tag", "action", "answer", "forged", "rest"]


class Piece(NamedTuple):
    kind: PieceKind
    """`text` is outside of all tags: it is the answer if no tag follows."""
    text: str


_TAG = re.compile(r"<(thought>|action(?=[\s/>])|final>|observation(?=[\s>]))")
_TAGS = ("<thought>", "<action ", "<final>", "<observation ")
_STATES: dict[str, _State] = {
    "thought>": "thought",
    "action": "tag",
    "final>": "answer",
    "observation": "forged",
}
_ENDS: dict[_State, str] = {
    "thought": "</thought>",
    "tag": ">",
    "action": "</action>",
    "answer": "</final>",
    "forged": "</observation>",
}


class Splitter:
    """Splits one response of the model into pieces.

    Tags are removed, and also `<observation>` blocks, which the model must not write.
    """

    def __init__(self) -> None:
        self._state: _State = "text"
        self._held = ""
        self._past_end: list[str] = []

    def feed(self, delta: str) -> list[Piece]:
        """Add streamed output. Returns the pieces that can be displayed now."""
        text, pieces = self._held + delta, list[Piece]()
        self._held = ""
        while text and self._state != "rest":
            text = self._text(text, pieces) if self._state == "text" else self._block(text, pieces)
        return pieces

    def close(self) -> list[Piece]:
        """The remaining text, which was held back as a possible start of a tag."""
        held, self._held = self._held, ""
        pieces: list[Piece] = []
        if not self._past_end:
            self._show(held, pieces)
        return pieces

    def _show(self, text: str, pieces: list[Piece]) -> None:
        if text and self._state in ("text", "thought", "action", "answer"):
            pieces.append(Piece(self._state, text))

    def _text(self, text: str, pieces: list[Piece]) -> str:
        tag = _TAG.search(text)
        if tag:
            self._show(text[: tag.start()], pieces)
            self._state = _STATES[tag[1]]
            return text[tag.end() :]
        at = text.rfind("<")
        if at >= 0 and any(name.startswith(text[at:]) for name in _TAGS):
            text, self._held = text[:at], text[at:]
        self._show(text, pieces)
        return ""

    def _block(self, text: str, pieces: list[Piece]) -> str:
        end = _ENDS[self._state]
        at = text.find(end)
        if self._state == "answer":
            return self._answer(text, at, pieces)
        if at >= 0:
            self._show(text[:at], pieces)
            self._leave(text, at)
            return text[at + len(end) :]
        self._hold(text, end, pieces)
        return ""

    def _leave(self, text: str, at: int) -> None:
        if self._state == "tag":
            closed = text[:at].endswith("/")
            self._state = "rest" if closed else "action"
        else:
            self._state = "rest" if self._state == "action" else "text"

    def _answer(self, text: str, at: int, pieces: list[Piece]) -> str:
        """An answer ends at its last end tag, so text after an end tag is held back."""
        end = _ENDS["answer"]
        if at >= 0:
            for part in self._past_end:
                self._show(part, pieces)
            self._show(text[:at], pieces)
            self._past_end = [end]
            return text[at + len(end) :]
        if self._past_end:
            kept = _partial(text, end)
            self._past_end.append(text[: len(text) - kept])
            self._held = text[len(text) - kept :]
        else:
            self._hold(text, end, pieces)
        return ""

    def _hold(self, text: str, end: str, pieces: list[Piece]) -> None:
        kept = 1 if self._state == "tag" else _partial(text, end)
        self._held = text[len(text) - kept :]
        self._show(text[: len(text) - kept], pieces)


def _partial(text: str, end: str) -> int:
    """The number of characters at the end of `text` that may start an end tag."""
    return next((size for size in range(len(end) - 1, 0, -1) if text.endswith(end[:size])), 0)


def answer_so_far(text: str) -> str:
    """The answer text in incomplete output; empty if it has only thoughts or an action."""
    splitter = Splitter()
    pieces = [*splitter.feed(text), *splitter.close()]
    kind: PieceKind = "answer" if any(piece.kind == "answer" for piece in pieces) else "text"
    if kind == "text" and any(piece.kind == "action" for piece in pieces):
        return ""
    return "".join(piece.text for piece in pieces if piece.kind == kind).strip()
