"""Reads a text file of the working directory."""

from __future__ import annotations

import asyncio
import os
import stat

from kefu.errors import ToolFailed
from kefu.tools.jail import opened
from kefu.tools.workplace import Workplace

LIMIT = 64 * 1024
"""Bytes of a file that are looked at; a model is shown less."""


async def read_file(place: Workplace, path: str, first_line: int = 1) -> str:
    """Read a text file of the working directory, from a line on if one is named."""
    text, size = await asyncio.to_thread(_read, place, path)
    if "\0" in text[:8192]:
        return f"{path} is no text: {size} bytes"
    if first_line > 1:
        text = "".join(text.splitlines(keepends=True)[first_line - 1 :])
    if size > LIMIT:
        text += f"\n[only the first {LIMIT} of {size} bytes were read]"
    return text


def _read(place: Workplace, path: str) -> tuple[str, int]:
    with opened(place.folder, path) as descriptor:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise ToolFailed(f"{path} is a folder: list it instead")
        parts: list[bytes] = []
        left = LIMIT
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
    # A file of /proc or one that grows says 0, or less than there is.
    read = b"".join(parts)
    return read.decode("utf-8", "replace"), max(found.st_size, len(read))
