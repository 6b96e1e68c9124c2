"""Reads one file of a folder, by the end of its name."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping

from kefu.knowledge.extract.encoding import decoded
from kefu.knowledge.extract.html import Html, read_html
from kefu.knowledge.extract.markdown import read_markdown
from kefu.knowledge.pages import Block, PageText

MAX_FILE_BYTES = 5 << 20
"""Bytes of a page or a file. Larger files are skipped, and named in the report."""

LARGEST_TEXT = 50_000_000
"""Characters that a compressed file may unpack to."""


class Unreadable(Exception):
    """The file has no text that can be read. The error's message is shown in the report."""


def _text(text: str, url: str) -> PageText:
    parts = [part.strip() for part in text.split("\n\n")]
    blocks = [Block(part) for part in parts if part]
    return PageText(url, _name(url), blocks)


def _pdf(data: bytes, url: str) -> PageText:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(f"not a readable PDF: {error}") from None
    try:
        title = document.get_metadata_value("Title").strip()
        blocks = list[Block]()
        for number in range(len(document)):
            sheet = document[number].get_textpage()
            blocks += [Block(text) for text in _paragraphs(sheet.get_text_bounded())]
    finally:
        document.close()
    if not blocks:
        raise Unreadable("a PDF without text, such as a scan")
    return PageText(url, title or _name(url), blocks)


def _paragraphs(text: str) -> list[str]:
    """A PDF has lines and no paragraphs: about five lines make a block that is cut by size."""
    lines = [line.strip().replace("\ufffe", "") for line in text.splitlines()]
    kept = [line for line in lines if line]
    return ["\n".join(kept[start : start + 5]) for start in range(0, len(kept), 5)]


def _docx(data: bytes, url: str) -> PageText:
    import zipfile

    import docx

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > LARGEST_TEXT:
                raise Unreadable("it unpacks to more than 50 MB")
        document = docx.Document(io.BytesIO(data))
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise Unreadable(f"not a readable Word file: {error}") from None
    blocks = list[Block]()
    for part in document.iter_inner_content():
        if isinstance(part, docx.table.Table):
            rows = (" | ".join(cell.text.strip() for cell in row.cells) for row in part.rows)
            blocks += [Block(row) for row in rows if row.strip(" |")]
        elif text := part.text.strip():
            name = (part.style.name if part.style else "") or ""
            level = int(name[8]) if name[:8] == "Heading " and name[8:].isdigit() else 0
            blocks.append(Block(text, 1 if name == "Title" else min(level, 6)))
    heading = next((one.text for one in blocks if one.level), "")
    return PageText(url, document.core_properties.title or heading or _name(url), blocks)


_QUESTION = ("question", "q", "问题", "問題")
_ANSWER = ("answer", "a", "回答", "答案")


def _csv(text: str, url: str) -> PageText:
    csv.field_size_limit(MAX_FILE_BYTES)
    rows = csv.DictReader(io.StringIO(text))
    names = {(name or "").strip().casefold(): name for name in rows.fieldnames or ()}
    question = next((names[name] for name in _QUESTION if name in names), None)
    answer = next((names[name] for name in _ANSWER if name in names), None)
    if question is None or answer is None:
        raise Unreadable("a CSV file needs the columns `question` and `answer`")
    blocks = list[Block]()
    for row in rows:
        if (asked := row.get(question)) and (reply := row.get(answer)):
            blocks += [Block(asked.strip(), 2), Block(reply.strip())]
    return PageText(url, _name(url), blocks)


_OF_BYTES: Mapping[str, Callable[[bytes, str], PageText]] = {".docx": _docx, ".pdf": _pdf}
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
        return Html(_OF_BYTES[end](data, url)), ""
    found = decoded(data, charset, is_html=end in _HTML)
    if found is None:
        raise Unreadable("is no text")
    if end in _HTML:
        return read_html(found.text, url), found.remark
    return Html(_OF_TEXT[end](found.text, url)), found.remark


def _name(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]
