"""Finds and parses kefu.toml, and finds the line of a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FILE_NAME = "kefu.toml"

Keys = tuple[str, ...]
"""The names of a table and of a key in it: `("limits", "daily_tokens")`."""


class ConfigurationError(Exception):
    """A setting has a value that Kefu cannot run with."""


class ConfigFile(NamedTuple):
    path: Path
    text: str
    tables: dict[str, object]

    def place(self, keys: Keys) -> str:
        """The file and the line of a key or a table, for a message: `kefu.toml, line 3`.

        For a key that is missing, the line of its table.
        """
        lines = (_line_of(self.text, keys[:end]) for end in range(len(keys), 0, -1))
        line = next(filter(None, lines), 0)
        return f"{self.path}, line {line}" if line else str(self.path)


def find(named: str) -> ConfigFile | None:
    """Read the file at the path `named`; if that is empty, ./kefu.toml.

    Returns None if there is no ./kefu.toml. Raises ConfigurationError.
    """
    path = Path(named or FILE_NAME)
    try:
        if not named and not path.exists():
            return None
    except PermissionError as error:  # the working directory is another user's
        raise ConfigurationError(f"{path.absolute()} cannot be read: {error.strerror}") from None
    import tomllib  # imported here: it takes 2 ms, and not every service has the file

    try:
        text = read_text(path)
    except ValueError as error:
        hint = "" if path.exists() else " Write one: kefu init"
        said = f"KEFU_CONFIG: {error}.{hint}" if named else str(error)
        raise ConfigurationError(said) from None
    try:
        return ConfigFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from None


def read_text(path: Path) -> str:
    """Raises ValueError, whose message names the file and the reason."""
    try:
        return path.read_text(encoding="utf-8-sig")  # Windows' editors write a mark at the start
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} cannot be read: it is not UTF-8") from None


def referenced_text(value: str, folder: Path) -> str:
    """Return the text of the file that `@FILE` names, and any other value as it is.

    `@@text` stands for the text `@text`. Raises ValueError, as `read_text` does.
    """
    if value.startswith("@@"):
        return value[1:]
    return read_text(folder / value[1:]).strip() if value.startswith("@") else value


def name_of(keys: Keys) -> str:
    """`[limits] daily_tokens`, or `[tools.stock]` for the table of a tool."""
    if keys[0] == "tools" and len(keys) == 2:
        return f"[{'.'.join(keys)}]"
    return f"[{'.'.join(keys[:-1])}] {keys[-1]}" if len(keys) > 1 else keys[0]


def leaves(tables: Mapping[str, object], above: Keys = ()) -> Iterator[tuple[Keys, object]]:
    """All keys with a value, and the empty tables."""
    for name, value in tables.items():
        keys = (*above, name)
        if isinstance(value, dict) and value:
            yield from leaves(value, keys)
        else:
            yield keys, value


def _line_of(text: str, keys: Sequence[str]) -> int:
    """The number of the line on which the key begins; 0 if the text has no such key.

    The TOML parser does not report lines. So the first line is parsed, then the first two, and so
    on: the key is in the statement with which it appears in the result.
    """
    import tomllib

    lines = text.split("\n")
    first = 1
    for end in range(1, len(lines) + 1):
        try:
            tables: object = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue  # the statement goes on, on the next line
        for name in keys:
            tables = tables.get(name) if isinstance(tables, dict) else None
        if tables is not None:
            return first
        first = end + 1
    return 0
