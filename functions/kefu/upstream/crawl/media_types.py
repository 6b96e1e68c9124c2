"""Which files of a site are read, by their media types and their names."""

from __future__ import annotations

ENDS = {
    "": ".html",
    "application/xhtml+xml": ".html",
    "text/html": ".html",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/csv": ".csv",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
"""The end of a file's name for a media type that is read."""
_NOT_TEXT = (
    ".7z .avi .css .gif .gz .ico .jpeg .jpg .js .json .mov .mp3 .mp4 .png .svg .tar .webp .woff"
    " .woff2 .xml .zip"
)
NO_PAGES = tuple(_NOT_TEXT.split())
