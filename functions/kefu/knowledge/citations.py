"""Checks the citations and links of an answer, while it arrives in pieces of any length.

Two kinds of references leave this filter: the number of a source, as `[2]`, and a link to a page of
the sources. Other links become their text, images their description, and addresses lose their
scheme, so that no client makes a link of them. Code is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from kefu.knowledge.sources import Source

LONGEST = 2000
"""Characters of a link or an address at most. A longer one is not waited for."""

_TRIGGER = re.compile(r"[`!\[\]【<\\]| (?=[\[【 ]|$)|h(?=t|$)|w(?=w|$)|f(?=tp|t?$)", re.IGNORECASE)
_TICKS = re.compile("`+")
_TARGET = (
    r"\(\s{0,4}<?([^()\s<>]*(?:\([^()\s<>]*\)[^()\s<>]*)*)>?"
    r"(?:\s{1,4}(?:\"[^\"]*\"|'[^']*'))?\s{0,4}\)"
)
_TAGS = (
    "a|img|iframe|script|style|link|svg|video|audio|source|object|embed|form|input|button|base"
    "|meta|body|html|image"
)
_TOKENS: Sequence[tuple[str, re.Pattern[str]]] = (
    ("escape", re.compile(r"\\[^\n]")),
    ("link", re.compile(r"!?\[([^\[\]]*)\]" + _TARGET)),
    ("reference", re.compile(r"!\[([^\[\]]*)\](?!\()")),
    (
        "cite",
        re.compile(
            r"( {0,2})(?:\[\s*(\^?\d+(?:\s*[,，、;-]\s*\d+)*)\s*\]|【\s*(\d+[^】]{0,40})】)"
        ),
    ),
    ("close", re.compile(r"\](?=[(:\[])")),
    ("address", re.compile(r"<?(?:https?|ftp)://[^\s<>`\[\]\\]*>?", re.IGNORECASE)),
    ("address", re.compile(r"www\.[^\s<>`\[\]\\]*", re.IGNORECASE)),
    ("tag", re.compile(rf"</?(?:{_TAGS})\b[^<>]*>|</?[a-z!?][^<>`]*`[^<>]*>", re.IGNORECASE)),
)
_PARTS = (
    r"\\",
    r"!?\[[^\[\]]{0,LEN}|!",
    r"!?\[[^\[\]]*\]",
    r"!?\[[^\[\]]*\]\([^()]{0,LEN}(?:\([^()]*\)?[^()]{0,LEN})?",
    r" +| *\[[\s\d,，、;^-]*\]?| *【[^】]{0,44}|\]",
    r"</?|</?[a-z!?][^<>]{0,LEN}",
    r"<?[a-z]{1,5}:?/?/?|<?(?:https?|ftp)://[^\s<>`\[\]\\]{0,LEN}|w{1,3}|www\.[^\s<>`\[\]\\]{0,LEN}",
)
_UNFINISHED = re.compile("|".join(_PARTS).replace("LEN", str(LONGEST)), re.IGNORECASE)
"""What may become one of these with the next piece of text."""
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_NUMBER = re.compile(r"\d+")
_SCHEME = re.compile(r"(?:https?|ftp)://(?:www\.)?|www\.", re.IGNORECASE)
_SPECIAL = dict.fromkeys(map(ord, "`\\<>"), " ")
_AFTER = ".,;:!?)]*_'\"。，；：！？）】"
"""Characters that end a sentence, and not an address."""


class CitationFilter:
    """A filter of one answer's text. `used` and `answered` are final after `close`."""

    def __init__(self, sources: Sequence[Source], links: Sequence[str] = ()) -> None:
        """`links`: addresses that may be linked, too, with all below them."""
        self.used: dict[int, None] = {}
        """The numbers that were cited, in order."""
        self.answered = True
        """False when the answer began with `[0]`."""
        self._numbers = {one.number for one in sources}
        self._pages = {_page(one.url) for one in sources if one.url}
        self._links = [_page(one) for one in links]
        self._held = ""
        self._line = ""
        """The text of the current line that was sent."""
        self._recent = ""
        """The last characters that were sent."""
        self._has_open_ticks = False
        """Whether ticks without an end stand in the current paragraph."""
        self._seam = False
        """Whether something was removed behind it."""
        self._started = False
        """Whether more than white space was sent."""
        self._fence = ""
        """What closes the block of code that is open."""
        self._handlers: Mapping[str, Callable[[re.Match[str]], str]] = {
            "escape": lambda found: found[0],
            "link": self._link,
            "reference": lambda found: _plain(found[1]),
            "cite": self._cite,
            "close": lambda _: "] ",
            "address": self._address,
            "tag": lambda _: "",
        }

    def feed(self, text: str) -> str:
        return self._checked(text, at_end=False)

    def close(self) -> str:
        return self._checked("", at_end=True)

    def _checked(self, text: str, *, at_end: bool) -> str:
        text, self._held = self._held + text, ""
        shown, at = list[str](), 0
        while at < len(text):
            if self._fence:
                stop = self._in_block(text, at, shown, at_end=at_end)
            else:
                stop = self._next(text, at, shown, at_end=at_end)
            if stop is None:
                break
            at = stop
        self._held = text[at:]
        return "".join(shown)

    def _next(self, text: str, at: int, shown: list[str], *, at_end: bool) -> int | None:
        """Handle the text up to the next special character, or the construct at that character.

        Returns the position after it; None if more text is needed.
        """
        trigger = _TRIGGER.search(text, at)
        if trigger is None or trigger.start() > at:
            stop = trigger.start() if trigger else len(text)
            self._show(text[at:stop], shown)
            return stop
        waits = not at_end and len(text) - at <= LONGEST
        if text[at] == "`":
            return self._code(text, at, shown, waits=waits)
        if waits and _UNFINISHED.fullmatch(text, at):
            return None
        for name, pattern in _TOKENS:
            if found := pattern.match(text, at):
                self._seam = True
                self._show(self._handlers[name](found), shown)
                self._seam = True
                return found.end()
        self._show(text[at], shown)
        return at + 1

    def _show(self, text: str, shown: list[str]) -> None:
        """Append a text to the output.

        If something was removed, the texts around it must not form a link together.
        """
        if not self._started and not self.answered:
            text = text.lstrip()
        if not text:
            return
        defines = text[0] == ":" and self._line.lstrip().startswith("[")
        if (self._seam and _join(self._recent[-1:], text[0])) or (
            defines and self._recent[-1:] == "]"
        ):
            text = f" {text}"
        self._seam = False
        self._started = self._started or bool(text.strip())
        self._line = (self._line + text).rpartition("\n")[2][:8]
        if _EMPTY_LINE.search(self._recent + text):
            self._has_open_ticks = False
        self._recent = (self._recent + text)[-16:]
        shown.append(text)

    def _code(self, text: str, at: int, shown: list[str], *, waits: bool) -> int | None:
        """Code is shown as it is, once its end is known: without one, it is no code."""
        run = _TICKS.match(text, at)
        assert run
        ticks, start = run[0], run.end()
        if waits and start == len(text):
            return None
        line = text.find("\n", start)
        if len(ticks) > 2 and re.fullmatch(" {0,3}", self._line):
            if line < 0 and waits:
                return None
            if line > 0 and "`" not in text[start:line]:
                self._fence = ticks
                self._show(text[at : line + 1], shown)
                return line + 1
        return self._inline_code(text, at, shown, waits=waits)

    def _inline_code(self, text: str, at: int, shown: list[str], *, waits: bool) -> int | None:
        """Inline code. Backticks that other parsers may interpret differently do not count
        as code.
        """
        run = _TICKS.match(text, at)
        assert run
        ticks, start = run[0], run.end()
        line = text.find("\n", start)
        if not self._has_open_ticks:
            end = re.compile(rf"(?<!`){ticks}(?!`)").search(text, start)
            if end and (line < 0 or end.start() < line) and "|" not in text[start : end.start()]:
                if waits and end.end() == len(text):
                    return None
                self._show(text[at : end.end()], shown)
                return end.end()
            if waits and line < 0:
                return None
        self._has_open_ticks = True
        self._show(ticks, shown)
        return start

    def _in_block(self, text: str, at: int, shown: list[str], *, at_end: bool) -> int | None:
        """Show a line of a block of code; a line of as many ticks closes the block."""
        end = text.find("\n", at) + 1
        if not end:
            if not at_end and len(text) - at <= LONGEST:
                return None
            end = len(text)
        line = text[at:end].rstrip()
        if line.strip("`").strip(" ") == "" and line.lstrip(" ").startswith(self._fence):
            self._fence = ""
            self._has_open_ticks = False
        self._show(text[at:end], shown)
        return end

    def _link(self, found: re.Match[str]) -> str:
        name, target = found[1], found[2]
        if not found[0].startswith("!") and self._may_link(target):
            return found[0]
        number = name.strip()
        return self._numbered([number], "") if number.isdecimal() else _plain(name)

    def _cite(self, found: re.Match[str]) -> str:
        numbers = _NUMBER.findall((found[2] or found[3]).partition("†")[0])
        if not self._started and [int(one) for one in numbers[:1]] == [0]:
            self.answered = False
            return ""
        return self._numbered(numbers, found[1])

    def _numbered(self, numbers: Sequence[str], before: str) -> str:
        known = [int(one) for one in numbers if len(one) < 4 and int(one) in self._numbers]
        self.used |= dict.fromkeys(known)
        return before + "".join(f"[{one}]" for one in known) if known else ""

    def _address(self, found: re.Match[str]) -> str:
        address = found[0].strip("<>")
        if self._may_link(address.rstrip(_AFTER)):
            return found[0]
        return _plain(address)

    def _may_link(self, address: str) -> bool:
        page = _page(address)
        below = (page == one or page.startswith(f"{one}/") for one in self._links)
        return page in self._pages or any(below)


def _plain(text: str) -> str:
    """A text that can be no link and no tag, and changes no code around it."""
    text = text.translate(_SPECIAL)
    while (plain := _SCHEME.sub(" ", text)) != text:
        text = plain
    return plain.strip()


def _join(before: str, after: str) -> bool:
    """Whether two characters may make a scheme, a target or a run of ticks together."""
    parts = before + after
    if parts.isascii() and all(one.isalnum() or one in ":/" for one in parts) and before:
        return True
    return parts.lower() in {"w.", "``", "](", "]:"}


def _page(url: str) -> str:
    """The address without its fragment, as it is compared with the sources."""
    return url.partition("#")[0].rstrip("/")
