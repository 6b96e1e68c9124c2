"""Reads one file of a folder, by the end of its name."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kefu.knowledge.extract.encoding import decoded
from kefu.knowledge.extract.html import Html, read_html
from kefu.knowledge.extract.markdown import read_markdown
from kefu.knowledge.pages import Block, PageText

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_FILE_BYTES = 50 << 20
"""Bytes of a file. Larger files are skipped, and named in the report."""

LARGEST_TEXT = 50_000_000
"""Characters that a compressed file may unpack to."""

_NAMED = 20
"""Damaged pages of a PDF that are named."""

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ID = f"{_WORD}id"
_PARAGRAPH, _TABLE, _TEXT_BOX = f"{_WORD}p", f"{_WORD}tbl", f"{_WORD}txbxContent"
_CHARACTERS = [f"{_WORD}{name}" for name in ("t", "tab", "ptab", "br", "cr", "noBreakHyphen")]
_NOTES = {f"{_WORD}{kind}Reference": f"{kind}s" for kind in ("footnote", "endnote")}
_NOT_SHOWN = {
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    *(f"{_WORD}{name}" for name in ("del", "moveFrom", "pPr", "rt")),
}
"""A second copy, tracked deletions, the properties of a paragraph, and how signs are said."""


class Unreadable(Exception):
    """The file has no text that can be read. The error's message is shown in the report."""


def _text(text: str, url: str) -> PageText:
    parts = [part.strip() for part in text.split("\n\n")]
    blocks = [Block(part) for part in parts if part]
    return PageText(url, _name(url), blocks)


def _pdf(data: bytes, url: str) -> tuple[PageText, str]:
    """Each page of a PDF is a part with the headings of the PDF's outline. Part two: a remark."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(f"not a readable PDF: {error}") from None
    try:
        title = document.get_metadata_value("Title").strip()
        outline, path, blocks = _outline(document), list[Block](), list[Block]()
        damaged = list[str]()
        for number in range(len(document)):
            anchor = f"page={number + 1}"
            headings = path = _path(path, outline[number], anchor)
            try:
                sheet = document[number]
                text = sheet.get_textpage().get_text_bounded()
                sheet.close()
            except pypdfium2.PdfiumError:
                damaged.append(str(number + 1))
                continue
            if lines := [Block(one) for one in _paragraphs(text)]:
                blocks += [Block("", 0, anchor, apart=True), *headings, *lines]
    finally:
        document.close()
    more = ", …" if len(damaged) > _NAMED else ""
    remark = f"damaged, without page {', '.join(damaged[:_NAMED])}{more}" if damaged else ""
    if not blocks:
        raise Unreadable(remark or "a PDF without text, such as a scan")
    return PageText(url, title or _name(url), blocks), remark


def _outline(document: PdfDocument) -> Mapping[int, list[Block]]:
    """The headings of the outline by the number of their page, from 0."""
    found = defaultdict[int, list[Block]](list)
    for entry in document.get_toc(max_depth=5):
        place, name = entry.get_dest(), " ".join(entry.get_title().split())
        if place is not None and (at := place.get_index()) is not None and name:
            found[at].append(Block(name, entry.level + 2))
    return found


def _path(before: Sequence[Block], new: Sequence[Block], anchor: str) -> list[Block]:
    """The headings of a page, each below the one that it belongs to."""
    top = min((one.level for one in new), default=7)
    return [one._replace(anchor=anchor) for one in (*(b for b in before if b.level < top), *new)]


def _paragraphs(text: str) -> list[str]:
    """A PDF has lines and no paragraphs: about five lines make a block that is cut by size."""
    lines = [line.strip().replace("\ufffe", "") for line in text.splitlines()]
    kept = [line for line in lines if line]
    return ["\n".join(kept[start : start + 5]) for start in range(0, len(kept), 5)]


def _docx(data: bytes, url: str) -> tuple[PageText, str]:
    import zipfile

    import docx
    from docx.text.paragraph import Paragraph

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > LARGEST_TEXT:
                raise Unreadable("it unpacks to more than 50 MB")
        document = docx.Document(io.BytesIO(data))
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise Unreadable(f"not a readable Word file: {error}") from None
    blocks, notes = list[Block](), _notes(document)
    for part in _parts(document.element.body):
        if part.tag == _TABLE:
            rows = _rows(part)
            head = rows[0] if len(rows) > 1 else ""
            blocks += [
                Block(row, head=head if at else "")
                for at, row in enumerate(rows)
                if row.strip(" |")
            ]
        elif text := _line(part).strip():
            style = Paragraph(part, document).style
            name = (style.name if style else "") or ""
            if name.lower().startswith("toc "):
                continue  # the table of contents
            level = int(name[8]) if name[:8] == "Heading " and name[8:].isdigit() else 0
            blocks.append(Block(text, 1 if name == "Title" else min(level, 6)))
        for mark in _nearest(part, *_NOTES):
            if note := notes.pop((_NOTES[mark.tag], mark.get(_ID)), ""):
                blocks.append(Block(note))
    heading = next((one.text for one in blocks if one.level), "")
    return PageText(url, document.core_properties.title or heading or _name(url), blocks), ""


def _notes(document: Any) -> dict[tuple[str, str], str]:
    """The footnotes and endnotes, by their kind and number."""
    from docx.oxml import parse_xml

    return {
        (kind, note.get(_ID)): _cell(note)
        for relation in document.part.rels.values()
        if (kind := relation.reltype.rpartition("/")[2]) in _NOTES.values()
        for note in parse_xml(relation.target_part.blob)
    }


def _nearest(node: Any, *tags: str) -> Iterator[Any]:
    """The elements in it with one of the tags, but none within another."""
    for child in node:
        if child.tag in tags:
            yield child
        elif child.tag not in _NOT_SHOWN:
            yield from _nearest(child, *tags)


def _parts(node: Any) -> Iterator[Any]:
    """The paragraphs and tables in it. The text boxes of a paragraph follow it."""
    for part in _nearest(node, _PARAGRAPH, _TABLE):
        yield part
        if part.tag == _PARAGRAPH:
            yield from _parts(part)


def _line(paragraph: Any) -> str:
    return "".join(
        str(one) for one in _nearest(paragraph, *_CHARACTERS, _TEXT_BOX) if one.tag != _TEXT_BOX
    )


def _rows(table: Any) -> list[str]:
    """A cell of several columns is there once; one of several rows is in each of them."""
    rows, above = list[str](), dict[int, str]()
    for row in _nearest(table, f"{_WORD}tr"):
        cells, column = list[str](), 0
        for cell in _nearest(row, f"{_WORD}tc"):
            text = above.get(column, "") if cell.vMerge == "continue" else _cell(cell)
            cells.append(text)
            above[column] = text
            column += cell.grid_span
        rows.append(" | ".join(cells))
    return rows


def _cell(cell: Any) -> str:
    lines = ("\n".join(_rows(one)) if one.tag == _TABLE else _line(one) for one in _parts(cell))
    return "\n".join(lines).strip()


_QUESTION = ("question", "q", "问题", "問題")
_ANSWER = ("answer", "a", "回答", "答案")
_SEPARATOR = re.compile(r'"?sep=([,;\t|])"?\s*\n', re.IGNORECASE)


def csv_rows(text: str, sign: str = "") -> csv.DictReader[str]:
    """The rows of a CSV file. Excel writes semicolons in half of Europe, and some programs tell it
    the sign in a first line, such as "sep=;".
    """
    csv.field_size_limit(MAX_FILE_BYTES)
    if named := _SEPARATOR.match(text):
        sign, text = named[1], text[named.end() :]
    names = re.sub('"[^"]*"', "", text.partition("\n")[0])
    return csv.DictReader(io.StringIO(text), delimiter=sign or max(",;\t", key=names.count))


def _csv(text: str, url: str) -> PageText:
    rows = csv_rows(text)
    names = {(name or "").strip().casefold(): name for name in rows.fieldnames or ()}
    question = next((names[name] for name in _QUESTION if name in names), None)
    answer = next((names[name] for name in _ANSWER if name in names), None)
    if question is None or answer is None:
        raise Unreadable("a CSV file needs the columns `question` and `answer`")
    blocks = list[Block]()
    for row in rows:
        if (asked := row.get(question)) and (reply := row.get(answer)):
            blocks += [Block(asked.strip(), 2, apart=True), Block(reply.strip())]
    return PageText(url, _name(url), blocks)


_OF_BYTES: Mapping[str, Callable[[bytes, str], tuple[PageText, str]]] = {
    ".docx": _docx,
    ".pdf": _pdf,
}
_OF_TEXT: Mapping[str, Callable[[str, str], PageText]] = {
    ".csv": _csv,
    ".md": read_markdown,
    ".mdx": read_markdown,
    ".txt": _text,
}
_HTML = frozenset({".htm", ".html"})
READ = _HTML | _OF_BYTES.keys() | _OF_TEXT.keys()
"""The ends of the names of files that are read."""


def read_file(data: bytes, end: str, url: str, *, charset: str = "") -> tuple[Html, str]:
    """Read a page or a file by the end of its name. Part two is a remark for the report.

    Raises Unreadable. For the reader's process alone: damaged bytes may raise anything, or crash
    the process. `charset`: the character set in the HTTP header.
    """
    if end in _OF_BYTES:
        page, remark = _OF_BYTES[end](data, url)
        return Html(page), remark
    found = decoded(data, charset, is_html=end in _HTML)
    if found is None:
        raise Unreadable("is no text")
    read = read_html(found.text, url) if end in _HTML else Html(_OF_TEXT[end](found.text, url))
    if found.codec != "utf-8":
        read = read._replace(notes=(f"read as {found.codec}", *read.notes))
    return read, found.remark


def _name(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]
