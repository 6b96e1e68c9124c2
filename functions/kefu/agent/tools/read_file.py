"""A tool that reads a text file below the working directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kefu.agent.tools.jail import opened
from kefu.errors import ToolFailed

MAX_FILE_BYTES = 64 * 1024
"""Maximum bytes that are read from a file. The loop cuts the result further."""


def read_file(folder: Path, path: str, first_line: int = 1) -> str:
    """Read a text file of the working directory, from a line on if one is named."""
    text, size = _read(folder, path)
    if "\0" in text[:8192]:
        return f"{path} is no text: {size} bytes"
    if first_line > 1:
        text = "".join(text.splitlines(keepends=True)[first_line - 1 :])
    if size > MAX_FILE_BYTES:
        text += f"\n[only the first {MAX_FILE_BYTES} of {size} bytes were read]"
    return text


def _read(folder: Path, path: str) -> tuple[str, int]:
    with opened(folder, path) as descriptor:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise ToolFailed(f"{path} is a folder: list it instead")
        parts: list[bytes] = []
        remaining = MAX_FILE_BYTES
        while remaining and (part := os.read(descriptor, remaining)):
            parts.append(part)
            remaining -= len(part)
    # The size in fstat is 0 for files of /proc, and too small for a file that grows.
    read = b"".join(parts)
    return read.decode("utf-8", "replace"), max(status.st_size, len(read))
