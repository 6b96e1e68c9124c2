"""The patterns of citations and links in Markdown, for `kefu.knowledge.citations`."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_LINK_CHARS = 2000
"""Characters of a link or an address at most. Longer text is not waited for."""

LONGEST_NUMBER = 1
"""Digits of a passage's number. A number with more digits, as in "RFC [2119]", is text."""

TRIGGER = re.compile(r"[`!\[\]【<\\]| (?=[\[【 ]|$)|h(?=t|$)|w(?=w|$)|f(?=tp|t?$)", re.IGNORECASE)
TICKS = re.compile("`+")
_NAME = r"((?:[^\[\]`<\\|\n]|(?<!`)`[^`\[\]|\n]+`(?!`))*)"
"""The text of a link. The backticks are pairs, so that they change no text behind the link."""
_PLAIN = r"[^()\s<>`\[\]\\]*"
_TARGET = (
    rf"\(\s{{0,4}}(?:<([^<>`\[\]\\\n]*)>|({_PLAIN}(?:\({_PLAIN}\){_PLAIN})*))"
    r"(?:\s{1,4}(?:\"[^\"\\\n]*\"|'[^'\\\n]*'))?\s{0,4}\)"
)
TAGS = (
    *("a", "img", "iframe", "script", "style", "link", "svg", "video", "audio", "source"),
    *("object", "embed", "form", "input", "button", "base", "meta", "body", "html", "image"),
    *("pre", "textarea"),
)
"""Tags that lead to other pages, or begin a block of HTML that an empty line does not end."""
_VALUE = r"(?:[^\s\"'=<>`]+|'[^'<>\n]*'|\"[^\"<>\n]*\")"
_ATTRIBUTE = rf"[ \t]+[a-z_:][\w.:-]*(?:[ \t]*=[ \t]*{_VALUE})?"
REFERENCE_TOKENS: Sequence[tuple[str, re.Pattern[str]]] = (
    ("escape", re.compile(r"\\[!-/:-@\[-`{-~]")),
    ("link", re.compile(rf"!?\[{_NAME}\]{_TARGET}")),
    (
        "cite",
        re.compile(
            r"( {0,2})(?:\[\s*(\^?\d+(?:\s*[,，、;-]\s*\d+)*)\s*\]|【\s*(\d+[^】]{0,40})】)"
        ),
    ),
    ("address", re.compile(r"<?(?:https?|ftp)://[^\s<>`\[\]\\]*>?", re.IGNORECASE)),
    ("address", re.compile(r"www\.[^\s<>`\[\]\\]*", re.IGNORECASE)),
    ("tag", re.compile(rf"</?([a-z][a-z0-9-]*)((?:{_ATTRIBUTE})*)[ \t]*/?>", re.IGNORECASE)),
)
_PARTS = (
    r"\\",
    r"!?\[[^\[\]\n]{0,LEN}|!",
    r"!?\[[^\[\]\n]*\]",
    r"!?\[[^\[\]\n]*\]\([^()]{0,LEN}(?:\([^()]*\)?[^()]{0,LEN})?",
    r" +| *\[[\s\d,，、;^-]*\]?| *【[^】]{0,44}",
    rf"</?|</?[a-z][a-z0-9-]{{0,LEN}}[ \t]*/?|</?(?:{'|'.join(TAGS)})\b[^<>\n]{{0,LEN}}",
    r"<?[a-z]{1,5}:?/?/?|<?(?:https?|ftp)://[^\s<>`\[\]\\]{0,LEN}|w{1,3}|www\.[^\s<>`\[\]\\]{0,LEN}",
)
UNFINISHED = re.compile("|".join(_PARTS).replace("LEN", str(MAX_LINK_CHARS)), re.IGNORECASE)
"""Text that may become one of `REFERENCE_TOKENS` with the next piece."""
NUMBER = re.compile(r"\d+")
SCHEME = re.compile(r"(?:https?|ftp)://(?:www\.)?|www\.", re.IGNORECASE)
SENTENCE_ENDS = ".,;:!?)]*_'\"。，；：！？）】"
"""Characters that end a sentence, and not an address."""
RECENT_CHARS = 40
"""Characters that are looked at behind the place of a number."""
INDEXED = re.compile(r"(?![\u2e80-\uffff])\w(?:\[[^\[\]]*\])*\Z")
"""A word, or an item of a list in the word. Chinese words have no spaces between them."""
FRAGMENT = re.compile(r"[\w%.:~-]{0,200}")
_SPECIAL = dict.fromkeys(map(ord, "`\\<>"), " ")


def plain(text: str) -> str:
    """A text that can be no link and no tag, and changes no code around it."""
    text = text.translate(_SPECIAL)
    while (shorter := SCHEME.sub(" ", text)) != text:
        text = shorter
    return text.strip()
