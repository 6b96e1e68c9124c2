"""Checks the citations and links of an answer, while it arrives in pieces of any length.

Two kinds of references pass this filter: the number of a source, as `[2]`, and a link to a page of
the sources. Other links become their text, images their description, and addresses lose their
scheme, so that no client makes a link of them. Code is not changed.

No foreign link remains, however a parser reads the text: outside of text that is code for every
parser, the characters of a link never stand beside each other. Words are removed only with a link,
a tag, or a number of no source, and only where the text cannot be code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from io import IncrementalNewlineDecoder

from kefu.knowledge.markdown_place import Place
from kefu.knowledge.references import (
    FRAGMENT,
    INDEXED,
    LONGEST_NUMBER,
    MAX_LINK_CHARS,
    NUMBER,
    RECENT_CHARS,
    REFERENCE_TOKENS,
    SCHEME,
    SENTENCE_ENDS,
    TAGS,
    TICKS,
    TRIGGER,
    UNFINISHED,
    plain,
)
from kefu.knowledge.sources import Source


class CitationFilter:
    """Filters the text of one answer. `used` and `answered` are final after `close`."""

    def __init__(
        self, sources: Sequence[Source], links: Sequence[str] = (), *, cites: bool = True
    ) -> None:
        """`links`: addresses that may be linked, too, with all pages below them.

        `cites`: False where numbers in brackets are text, because there are no passages.
        """
        self._cites = cites
        self.used: dict[int, None] = {}
        """The numbers that were cited, in order."""
        self.answered = True
        """Whether the pages answer the question: the answer does not begin with `[0]`."""
        self.started = False
        """Whether more than white space was sent."""
        self._numbers = set[int]()
        self._pages = set[str]()
        self._links = list[str]()
        self.allow(sources, links)
        self._newlines = IncrementalNewlineDecoder(None, translate=True)
        self._held = ""
        self._place = Place()
        self._recent = ""
        """The last characters that were sent."""
        self._seam = False
        """Whether something was removed behind these characters."""
        self._ends_address = False
        """Whether an address ends with these characters."""
        self._handlers: Mapping[str, Callable[[re.Match[str]], str | None]] = {
            "escape": lambda found: found[0],
            "link": self._link,
            "cite": self._cite,
            "address": self._address,
            "tag": self._tag,
        }

    def allow(self, sources: Sequence[Source], links: Sequence[str] = ()) -> None:
        """Let the rest of the answer cite more sources, and link to more addresses."""
        self._numbers |= {one.number for one in sources}
        self._pages |= {_page(one.url) for one in sources if one.url}
        self._links += [_page(one) for one in links]

    def feed(self, text: str) -> str:
        return self._checked(self._newlines.decode(text), at_end=False)

    def close(self) -> str:
        """The rest of the text. An open block of code is closed, for a list behind it."""
        text = self._checked(self._newlines.decode("", final=True), at_end=True)
        if not self._place.fence:
            return text
        end = "\n" if self._place.line else ""
        return f"{text}{end}{self._place.fence}\n"

    def _checked(self, text: str, *, at_end: bool) -> str:
        text, self._held = self._held + text, ""
        shown, at = list[str](), 0
        while at < len(text):
            waits = not at_end and len(text) - at <= MAX_LINK_CHARS
            read = self._in_block if self._place.fence else self._next
            stop = read(text, at, shown, waits=waits)
            if stop is None:
                break
            at = stop
        self._held = text[at:]
        return "".join(shown)

    def _next(self, text: str, at: int, shown: list[str], *, waits: bool) -> int | None:
        """Handle the text up to the next special character, or the construct at that character.

        Returns the position after the link; None if more text is needed.
        """
        trigger = TRIGGER.search(text, at)
        if trigger is None or trigger.start() > at:
            stop = trigger.start() if trigger else len(text)
            self._show(text[at:stop], shown)
            return stop
        if text[at] == "`":
            return self._code(text, at, shown, waits=waits)
        if waits and UNFINISHED.fullmatch(text, at):
            return None
        for name, pattern in REFERENCE_TOKENS:
            found = pattern.match(text, at)
            if found and (kept := self._handlers[name](found)) is not None:
                self._seam = self._seam or kept != found[0]
                self._show(kept, shown)
                self._seam = kept != found[0]
                if kept:
                    self._ends_address = name == "address" and not self._seam
                return found.end()
        self._show(text[at], shown)
        return at + 1

    def _show(self, text: str, shown: list[str]) -> None:
        """Append a text to the output, behind a space if it could make a link with the last."""
        if not self.started and not self.answered:
            text = text.lstrip()
        if not text:
            return
        if not self._place.fence and self._makes_link(text[0]):
            text = f" {text}"
        self._seam = self._ends_address = False
        self.started = self.started or bool(text.strip())
        self._place.advance(text)
        self._recent = (self._recent + text)[-RECENT_CHARS:]
        shown.append(text)

    def _makes_link(self, first: str) -> bool:
        """Whether the last character and the next may be a part of a link, an image or a tag."""
        last = self._recent[-1:]
        both = last + first
        if both in {"](", "!["} or (both == "]:" and self._place.may_define):
            return True
        if last == "<" and (first in "/!?" or (first.isascii() and first.isalpha())):
            return True
        if self._ends_address and not first.isspace():
            return True
        return self._seam and _join(last, first)

    def _code(self, text: str, at: int, shown: list[str], *, waits: bool) -> int | None:
        """Code is shown unchanged, once its end is known. Ticks that begin no code are text."""
        run = TICKS.match(text, at)
        assert run
        ticks, start = run[0], run.end()
        if waits and start == len(text):
            return None
        line = text.find("\n", start)
        stop = line if line >= 0 else len(text)
        end = None
        if self._place.may_hold_code:
            end = re.compile(rf"(?<!`){ticks}(?!`)").search(text, start, stop)
        decides = self._place.may_hold_code or (len(ticks) > 2 and self._place.is_before_text)
        if waits and line < 0 and decides and (end is None or end.end() == len(text)):
            return None
        if end and "|" not in text[start : end.start()]:
            stop = end.end()
        elif len(ticks) > 2 and self._place.is_before_text:
            if line >= 0 and "`" not in text[start:line] and self._place.opens(ticks):
                self._show(text[at : line + 1], shown)
                return line + 1
            self._place.is_lost, stop = True, start
        else:
            self._place.has_open_ticks, stop = True, start
        self._show(text[at:stop], shown)
        return stop

    def _in_block(self, text: str, at: int, shown: list[str], *, waits: bool) -> int | None:
        """Show code up to the end of its line. A line is held while it may close the block."""
        stop = text.find("\n", at) + 1 or len(text)
        line = text[at:stop].removesuffix("\n")
        belongs: bool | None = True
        if not self._place.line:
            is_open = stop == len(text) and not line.strip(" \t`") and text[-1:] != "\n"
            if is_open and waits:
                return None
            belongs = self._place.in_block(line)
        if belongs is False:
            return at
        self._show(text[at:stop], shown)
        if belongs is None:
            self._place.fence = ""
        return stop

    def _link(self, found: re.Match[str]) -> str | None:
        name, target = found[1], found[2] or found[3] or ""
        is_safe = not SCHEME.search(name) or self._is_ours(name)
        if not found[0].startswith("!") and self._is_ours(target) and is_safe:
            return f"[{name}]({target})"
        if self._place.may_be_code:
            return None
        number = name.strip()
        return self._numbered([number], "") if number.isdecimal() else plain(name)

    def _cite(self, found: re.Match[str]) -> str | None:
        if not self._cites:
            return None
        numbers = NUMBER.findall((found[2] or found[3]).partition("†")[0])
        if not self.started and numbers[0].strip("0") == "":
            self.answered = False
            return ""
        if all(map(self._is_known, numbers)):
            shown = self._numbered(numbers, found[1])
            return None if self._place.may_be_code else shown
        is_indexed = not found[1] and INDEXED.search(self._recent)
        is_large = any(len(one) > LONGEST_NUMBER for one in numbers)
        is_text = bool(found[2]) and (is_indexed or is_large)
        if is_text or self._place.may_be_code:
            return None
        return self._numbered(numbers, found[1])

    def _numbered(self, numbers: Sequence[str], before: str) -> str:
        known = [int(one) for one in numbers if self._is_known(one)]
        self.used |= dict.fromkeys(known)
        return before + "".join(f"[{one}]" for one in known) if known else ""

    def _is_known(self, number: str) -> bool:
        return len(number) < 4 and int(number) in self._numbers

    def _address(self, found: re.Match[str]) -> str:
        address = found[0].strip("<>")
        if not self._is_ours(address.rstrip(SENTENCE_ENDS)):
            return plain(address)
        return found[0] if found[0] == f"<{address}>" else address

    def _tag(self, found: re.Match[str]) -> str | None:
        """Tags that lead to other pages vanish. A tag with attributes may be no tag."""
        if found[1].lower() in TAGS:
            return None if self._place.may_be_code else ""
        if found[2]:
            return None
        self._place.has_tags |= self._place.is_before_text
        return found[0]

    def _is_ours(self, url: str) -> bool:
        """Whether an address leads to a page of the sources, or to or below one of `links`."""
        page = _page(url)
        below = (page == one or page.startswith(f"{one}/") for one in self._links)
        is_known = page in self._pages or any(below)
        return is_known and bool(FRAGMENT.fullmatch(url.partition("#")[2]))


def _join(before: str, after: str) -> bool:
    """Whether two characters may make a scheme, an escape or a run of ticks together."""
    both = before + after
    if before and both.isascii() and all(one.isalnum() or one in ":/" for one in both):
        return True
    return both.lower() in {"w.", "``"} or before == "\\"


def _page(url: str) -> str:
    """The address without its fragment, as it is compared with the sources."""
    return url.partition("#")[0].rstrip("/")
