"""Opens files in one directory tree, and none outside of it.

Each component of a path is opened relative to its parent, and symbolic links are refused (openat
and O_NOFOLLOW). So the opened file is the checked file, even if the tree changes meanwhile.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from kefu.errors import ToolFailed

_MAX_PATH_CHARS = 4096

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# O_NONBLOCK: if a named pipe replaces the file, opening it must not wait for a writer.
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def opened(root: Path, path: str) -> Iterator[int]:
    """Yields a file descriptor of a regular file or directory below `root`. Raises ToolFailed.

    `path` is relative to `root`, or absolute and inside of it.
    """
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
    if "\0" in path or len(path) > _MAX_PATH_CHARS:
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
    # The user chose the root, so it may be a symbolic link.
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
    except ValueError as error:  # a lone surrogate cannot be encoded as a file name
        raise ToolFailed("this is not a path") from error
    if stat.S_ISLNK(mode):
        raise ToolFailed(f"{name} is a symbolic link, which is not followed")
    if stat.S_ISDIR(mode):
        return os.open(name, _FOLDER, dir_fd=folder)
    if not stat.S_ISREG(mode):  # checked before opening, because opening a device can have effects
        raise ToolFailed(f"{name} is neither a file nor a folder")
    descriptor = os.open(name, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ToolFailed(f"{name} is neither a file nor a folder")
    return descriptor
