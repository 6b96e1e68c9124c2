"""Opens the file of learnt pages for a command, also one in S3."""

from __future__ import annotations

from pathlib import Path

from kefu.stores.s3_object import S3Object, is_s3
from kefu.stores.sqlite.knowledge.read import KnowledgeFile


def open_learnt_file(place: str) -> KnowledgeFile:
    """Raises OSError for a file that cannot be used, and ValueError for a malformed address."""
    if not is_s3(place):
        return KnowledgeFile(Path(place))
    copy = S3Object(place)
    try:
        copy.refresh()
        return KnowledgeFile(copy.path)  # SQLite keeps it open, so it may be removed
    finally:
        copy.close()
