"""Matches the simple patterns of JSON Schema in a time that grows only with the text's length.

Python's `re` tries one way after the other, which takes hours for some patterns and texts. Here the
ends of all ways are followed at once. That is easy without groups and alternatives, which most
patterns of numbers and codes do not need: `^[A-Z]{2}-\\d{4,8}$`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

MAX_PATTERN = 200
"""Characters of a pattern."""

# JSON Schema's patterns are those of JavaScript: digits and letters are ASCII, spaces are not.
_SPACES = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_ESCAPES = {r"\s": f"[{_SPACES}]", r"\S": f"[^{_SPACES}]", ".": r"[^\n\r\u2028\u2029]"}
_ESCAPE = r"\\(?:[dDwWtnrfv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^A-Za-z0-9\s])"
_ATOM = re.compile(
    rf"""(?P<one>{_ESCAPE}|\\[sS]|\.|[^\\\[\](){{}}*+?.^$|]
    |\[\^?(?:{_ESCAPE}|\\s|[^\[\]\\])+\])
    (?P<many>[*+?]|\{{(?P<least>\d{{1,4}})(?P<to>,(?P<most>\d{{1,4}})?)?\}})?""",
    re.VERBOSE,
)
_SET_OPERATIONS = ("--", "&&", "~~", "||")
"""Reserved in the classes of Python."""


class _Item(NamedTuple):
    run: re.Pattern[str]
    """As many characters of a class as there are in a row."""
    least: int
    most: int | None


class SimplePattern(NamedTuple):
    items: tuple[_Item, ...]
    from_start: bool
    to_end: bool

    def is_in(self, text: str) -> bool:
        """Whether a part of the text matches; with `^` and `$`, the whole text."""
        size = len(text)
        ways = [True] + [not self.from_start] * size
        for item in self.items:
            ways = _after(item, text, ways)
        return ways[size] if self.to_end else any(ways)


def _after(item: _Item, text: str, ways: list[bool]) -> list[bool]:
    """The places in the text to which an item leads from places that can be reached."""
    size = len(text)
    last = list(range(size + 1))
    for found in item.run.finditer(text):
        last[found.start() : found.end()] = [found.end()] * (found.end() - found.start())
    changes = [0] * (size + 2)
    for start, is_reached in enumerate(ways):
        least, most = start + item.least, last[start]
        if item.most is not None:
            most = min(most, start + item.most)
        if is_reached and least <= most:
            changes[least] += 1
            changes[most + 1] -= 1
    return [count > 0 for count in accumulate(changes[: size + 1])]


@lru_cache(64)
def simple_pattern(pattern: str) -> SimplePattern | None:
    """The pattern; None if it has groups, alternatives or anything else that is not simple."""
    if len(pattern) > MAX_PATTERN:
        return None
    from_start, to_end = pattern.startswith("^"), bool(re.search(r"(?<!\\)(\\\\)*\$$", pattern))
    at, end = int(from_start), len(pattern) - int(to_end)
    items = list[_Item]()
    while at < end:
        found = _ATOM.match(pattern, at, end)
        item = found and _item(found)
        if not found or not item:
            return None
        items.append(item)
        at = found.end()
    return SimplePattern(tuple(items), from_start, to_end)


def _item(found: re.Match[str]) -> _Item | None:
    one, many = found["one"], found["many"]
    if one in _ESCAPES:
        one = _ESCAPES[one]
    elif one.startswith("["):
        if any(operation in one for operation in _SET_OPERATIONS):
            return None
        one = one.replace(r"\\", r"\x5c").replace(r"\s", _SPACES)
    elif len(one) == 1:
        one = re.escape(one)
    try:
        run = re.compile(f"{one}+", re.ASCII)
    except re.error:
        return None
    least, most = {"*": (0, None), "+": (1, None), "?": (0, 1), None: (1, 1)}.get(many, (0, 0))
    if found["least"]:
        least = int(found["least"])
        most = least if not found["to"] else int(found["most"]) if found["most"] else None
        if most is not None and most < least:
            return None
    return _Item(run, least, most)
