"""Reads one file of a folder, by the end of its name."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping

from kefu.knowledge.extract.html import Html, read_html
from kefu.knowledge.extract.markdown import read_markdown
from kefu.knowledge.pages import Block, Page

LARGEST = 5 << 20
"""Bytes of a page or a file. Larger ones are skipped, and named in the report."""

LARGEST_TEXT = 50_000_000
"""Characters that a compressed file may unpack to."""


class Unreadable(Exception):
    """The file has no text that can be read. Its message is shown in the report."""


def _markdown(data: bytes, url: str) -> Page:
    return read_markdown(decoded(data), url)


def _text(data: bytes, url: str) -> Page:
    parts = [part.strip() for part in decoded(data).split("\n\n")]
    blocks = [Block(part) for part in parts if part]
    return Page(url, _name(url), blocks)


def _pdf(data: bytes, url: str) -> Page:
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
    return Page(url, title or _name(url), blocks)


def _paragraphs(text: str) -> list[str]:
    """A PDF has lines and no paragraphs: about five lines make a block that is cut by size."""
    lines = [line.strip().replace("\ufffe", "") for line in text.splitlines()]
    kept = [line for line in lines if line]
    return ["\n".join(kept[start : start + 5]) for start in range(0, len(kept), 5)]


def _docx(data: bytes, url: str) -> Page:
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
    return Page(url, document.core_properties.title or heading or _name(url), blocks)


_QUESTION = ("question", "q", "问题", "問題")
_ANSWER = ("answer", "a", "回答", "答案")


def _csv(data: bytes, url: str) -> Page:
    csv.field_size_limit(LARGEST)
    rows = csv.DictReader(io.StringIO(decoded(data)))
    names = {(name or "").strip().casefold(): name for name in rows.fieldnames or ()}
    question = next((names[name] for name in _QUESTION if name in names), None)
    answer = next((names[name] for name in _ANSWER if name in names), None)
    if question is None or answer is None:
        raise Unreadable("a CSV file needs the columns `question` and `answer`")
    blocks = list[Block]()
    for row in rows:
        if (asked := row.get(question)) and (told := row.get(answer)):
            blocks += [Block(asked.strip(), 2), Block(told.strip())]
    return Page(url, _name(url), blocks)


READERS: Mapping[str, Callable[[bytes, str], Page]] = {
    ".csv": _csv,
    ".docx": _docx,
    ".md": _markdown,
    ".mdx": _markdown,
    ".pdf": _pdf,
    ".txt": _text,
}
"""By the end of a file's name. Each may raise Unreadable."""

_HTML = frozenset({".htm", ".html"})
READ = _HTML | READERS.keys()
"""The ends of the names of files that are read."""


def read_file(data: bytes, end: str, url: str, *, whole: bool = True) -> Html:
    """Read a page or a file by the end of its name. Raises Unreadable.

    Call it in the reader's process alone: damaged bytes may raise anything, or crash the process.
    """
    if end in _HTML:
        return read_html(data, url, whole=whole)
    return Html(READERS[end](data, url), "", True, (), False, False)


def decoded(data: bytes) -> str:
    """UTF-8 with or without a byte order mark, UTF-16 with one, or GB 18030."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("gb18030", "replace")


def _name(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]
