"""The text of a Markdown or MDX file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kefu.knowledge.pages import Block, PageText

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(title|lang|url)[ \t]*:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*)")
_ANCHOR = re.compile(r"\{#([\w-]+)\}\s*\Z")
_CLOSING = re.compile(r"(?<!\S)#+\s*\Z")
_RULE = re.compile(r"[ ]{0,3}(?:=+|-{2,})[ \t]*\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_MDX = re.compile(
    r"import\s+(?:[\w$*{][\w$*{},\s]*\sfrom\s*)?[\"'][^\"']+[\"'];?\s*|import\s*\{.*|export\s+[{*].*"
    r"|export\s+(?:const|let|var|(?:async\s+)?function|class)\s.*[={(].*"
    r"|export\s+default\s+(?:(?:async|function|class)\s.*|[\w$.]+(?:;?\s*|\(.*)|[({\[<].*)"
    r"|:::+[ \t]*(?:\w+[ \t]*)?"
)
"""Lines of code in MDX, and the ends of admonitions."""
_TAG_OR_CODE = re.compile(r"`+[^`]*`+|</?[A-Za-z][^<>]*>")
_LABEL = re.compile(r"<[A-Z][^<>]*\s(?:label|title)=(?:\"([^\"]+)\"|'([^']+)')")
"""Of a component of MDX, such as a tab. The title of an element of HTML is a remark."""
_IMAGE = re.compile(r"!\[([^\]]{0,500})\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_LINK = re.compile(r"\[([^\]]{1,500})\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\]]{0,500}\])")
_REFERENCE = re.compile(
    r"[ ]{0,3}\[[^\]^][^\]]*\]:\s*(?:<[^<>]*>|\S+)"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*"
)
_EMPHASIS = re.compile(r"(\*\*|__|~~)(?=\S)(.{1,500}?)(?<=\S)\1")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_NO_SLUG = re.compile(r"[^\w\- ]+")


def read_markdown(text: str, url: str) -> PageText:
    """Read a file. The file's front matter may name `title`, `lang` and `url`."""
    fields = dict[str, str]()
    if front := _FRONT.match(text):
        fields = {name: value.strip("\"'") for name, value in _FIELD.findall(front[1])}
        text = text[front.end() :]
    blocks = list(_blocks(_without_comments(text)))
    title = fields.get("title") or next((one.text for one in blocks if one.level), "")
    return PageText(fields.get("url") or url, title, blocks, fields.get("lang", ""))


def _without_comments(text: str) -> str:
    for start, end in (("<!--", "-->"), ("{/*", "*/}")):
        parts = list[str]()
        at = 0
        while (begins := text.find(start, at)) >= 0 and (ends := text.find(end, begins)) >= 0:
            parts.append(text[at:begins])
            at = ends + len(end)
        text = "".join((*parts, text[at:]))
    return text


def _blocks(text: str) -> Iterator[Block]:
    paragraph, fence, table = list[str](), "", _Table()
    for line in (*text.splitlines(), ""):
        is_row = line.lstrip().startswith("|")
        table = table if is_row else _Table()
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
                yield from _flush(paragraph, "\n")
            else:
                paragraph.append(line)
            continue
        if opened := _FENCE.match(line):
            yield from _flush(paragraph, " ")
            fence = opened[1]
        elif heading := _HEADING.match(line):
            yield from _flush(paragraph, " ")
            anchor = _ANCHOR.search(heading[2])
            title = heading[2][: anchor.start()] if anchor else heading[2]
            yield _heading(len(heading[1]), _CLOSING.sub("", title), anchor and anchor[1])
        elif _RULE.match(line) and paragraph and not _ITEM.match(paragraph[0]):
            yield _heading(1 if "=" in line else 2, " ".join(paragraph), None)
            paragraph.clear()
        elif is_row:
            yield from _flush(paragraph, " ")
            yield from table.rows(line)
        elif _ITEM.match(line):
            yield from _flush(paragraph, " ")
            paragraph.append(_line(line))
        elif line.strip() and not _MDX.fullmatch(line) and not _REFERENCE.fullmatch(line):
            paragraph.append(_line(line))
        else:
            yield from _flush(paragraph, " ")
    yield from _flush(paragraph, "\n")


class _Table:
    """The row above the rule is the header row of those below it."""

    def __init__(self) -> None:
        self._last = self._head = ""

    def rows(self, line: str) -> list[Block]:
        if _TABLE_RULE.fullmatch(line):
            self._head = self._last
            return []
        self._last = _line(line)
        return [Block(self._last, head=self._head)] if self._last.strip(" |") else []


def _heading(level: int, text: str, anchor: str | None) -> Block:
    shown = _inline(text)
    return Block(shown, level, anchor or slug(shown))


def slug(heading: str) -> str:
    """The id that most renderers of Markdown give to a heading."""
    return _NO_SLUG.sub("", heading.lower()).strip().replace(" ", "-")


def _flush(lines: list[str], between: str) -> Iterator[Block]:
    text = between.join(lines).strip()
    lines.clear()
    if text:
        yield Block(text)


def _line(line: str) -> str:
    line = line.strip().lstrip(">").strip()
    if line.startswith("|"):
        return " | ".join(_inline(cell.strip()) for cell in line.strip("|").split("|"))
    return _inline(_ITEM.sub("- ", line, count=1) if _ITEM.match(line) else line)


def _inline(text: str) -> str:
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    return _EMPHASIS.sub(r"\2", _TAG_OR_CODE.sub(_shown, text)).replace("`", "").strip()


def _shown(part: re.Match[str]) -> str:
    """What a tag shows: `Bosch: ` for a tab, `How? ` for a question. A tag in code is text."""
    if part[0].startswith("`"):
        return part[0]
    found = _LABEL.match(part[0])
    label = (found[1] or found[2]) if found else ""
    if not label:
        return ""
    return f"{label}: " if label[-1].isalnum() else f"{label} "
