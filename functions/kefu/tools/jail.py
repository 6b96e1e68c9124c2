"""Opening what lies in one folder, and nothing else.

A path is walked one name at a time, each opened below the one before and never through a symbolic
link (openat and O_NOFOLLOW): what was checked is what is open, whatever somebody does to the folder
meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from kefu.errors import ToolFailed

_LONGEST = 4096

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# O_NONBLOCK: a named pipe that takes a file's place would hold the open until somebody writes.
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def opened(root: Path, path: str) -> Iterator[int]:
    """A descriptor of a regular file or a folder below `root`. Raises ToolFailed."""
    names = _names(root, path)
    if os.open not in os.supports_dir_fd:
        raise ToolFailed("files cannot be opened safely on this system")
    try:
        descriptor = _walk(root, names)
    except OSError as error:
        raise ToolFailed(f"{path or '.'}: {error.strerror}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _names(root: Path, path: str) -> tuple[str, ...]:
    path = path.strip()
    if "\0" in path or len(path) > _LONGEST:
        raise ToolFailed("this is not a path")
    pure = PurePosixPath(path)
    if pure.is_absolute():
        try:
            pure = pure.relative_to(PurePosixPath(root))
        except ValueError:
            raise ToolFailed(f"{path} is outside of the working directory") from None
    if ".." in pure.parts:
        raise ToolFailed(f"{path}: '..' is not followed, name the path from the working directory")
    return pure.parts


def _walk(root: Path, names: tuple[str, ...]) -> int:
    # The root is the user's own choice, and may be a link.
    here = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    for name in names:
        try:
            below = _below(here, name)
        finally:
            os.close(here)
        here = below
    return here


def _below(folder: int, name: str) -> int:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except ValueError as error:  # a lone surrogate, which no file's name can hold here
        raise ToolFailed("this is not a path") from error
    if stat.S_ISLNK(mode):
        raise ToolFailed(f"{name} is a symbolic link, which is not followed")
    if stat.S_ISDIR(mode):
        return os.open(name, _FOLDER, dir_fd=folder)
    if not stat.S_ISREG(mode):  # before it is opened: that alone may do something to a device
        raise ToolFailed(f"{name} is neither a file nor a folder")
    descriptor = os.open(name, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ToolFailed(f"{name} is neither a file nor a folder")
    return descriptor
