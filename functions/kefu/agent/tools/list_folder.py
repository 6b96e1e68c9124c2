"""A tool that lists a directory below the working directory."""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path

from kefu.agent.tools.jail import opened
from kefu.errors import ToolFailed

MAX_NAMES = 500
"""Maximum number of names in a list, because a directory may have millions."""


def list_folder(folder: Path, path: str = ".") -> str:
    """List a folder of the working directory: folders end with a slash, files have their size."""
    with opened(folder, path) as descriptor:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise ToolFailed(f"{path} is a file: read it instead")
        with os.scandir(descriptor) as entries:
            lines = sorted(_line(entry) for entry in islice(entries, MAX_NAMES))
            more = next(entries, None) is not None
    if more:
        lines.append(f"[only {MAX_NAMES} of its names are shown]")
    return "\n".join(lines) or "[empty]"


def _line(entry: os.DirEntry[str]) -> str:
    # A file name may contain invalid UTF-8 and line breaks.
    name = os.fsencode(entry.name).decode("utf-8", "replace").replace("\n", "\\n")
    if entry.is_symlink():
        return f"{name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    try:
        return f"{name} ({entry.stat(follow_symlinks=False).st_size} bytes)"
    except OSError:  # removed meanwhile
        return name
