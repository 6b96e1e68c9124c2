"""Lists a folder of the working directory."""

from __future__ import annotations

import asyncio
import os
import stat
from itertools import islice

from kefu.errors import ToolFailed
from kefu.tools.jail import opened
from kefu.tools.workplace import Workplace

MOST = 500
"""Names shown; a folder may hold millions."""


async def list_folder(place: Workplace, path: str = ".") -> str:
    """List a folder of the working directory: folders end with a slash, files have their size."""
    return await asyncio.to_thread(_list, place, path)


def _list(place: Workplace, path: str) -> str:
    with opened(place.folder, path) as descriptor:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise ToolFailed(f"{path} is a file: read it instead")
        with os.scandir(descriptor) as entries:
            lines = sorted(_line(entry) for entry in islice(entries, MOST))
            more = next(entries, None) is not None
    if more:
        lines.append(f"[only {MOST} of its names are shown]")
    return "\n".join(lines) or "[empty]"


def _line(entry: os.DirEntry[str]) -> str:
    # A name may hold what no text can, and a line break.
    name = os.fsencode(entry.name).decode("utf-8", "replace").replace("\n", "\\n")
    if entry.is_symlink():
        return f"{name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    try:
        return f"{name} ({entry.stat(follow_symlinks=False).st_size} bytes)"
    except OSError:  # gone meanwhile
        return name
