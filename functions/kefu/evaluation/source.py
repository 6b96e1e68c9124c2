"""Reads a file of YAML or of JSON lines into mappings that know the lines of their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml


class WrongFile(Exception):
    """The file of questions is wrong. The message names the place, for its author."""

    def __init__(self, reason: str, line: int = 0) -> None:
        """`line`: from 1; 0 if it is not known."""
        super().__init__(reason)
        self.line = line


class Located(dict[str, Any]):
    """A mapping of the file."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}
        """The lines of its keys, from 1."""


class Unquoted(str):
    """A text without quotes, which may be meant as a number, as true, false or null."""

    __slots__ = ()


@contextmanager
def at_line_of(content: Mapping[str, Any], key: str) -> Iterator[None]:
    """Give a WrongFile without a line the line of this key, or of the mapping's first key."""
    try:
        yield
    except WrongFile as error:
        lines = content.lines if isinstance(content, Located) else {}
        error.line = error.line or lines.get(key, next(iter(lines.values()), 0))
        raise


def content_of(path: Path) -> object:
    """The content of a file: texts, lists and mappings; of JSON lines a list. Raises WrongFile."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongFile(getattr(error, "strerror", None) or "is not UTF-8") from error
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return list(_json_lines(text))
    return _yaml(text)


def _json_lines(text: str) -> Iterator[object]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line, object_pairs_hook=partial(_placed, number))
            except (ValueError, RecursionError) as error:
                raise WrongFile("this is not JSON", number) from error


def _placed(line: int, pairs: list[tuple[str, object]]) -> Located:
    found = Located()
    found.update(pairs)
    found.lines = dict.fromkeys(found, line)
    return found


def _yaml(text: str) -> object:
    import yaml

    try:
        # Every scalar stays a text: else `no` is a boolean and `9:00` is the number 540.
        node = yaml.compose(text, Loader=yaml.BaseLoader)
        return _content(node, {}) if node else None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", None) or error)
        raise WrongFile(reason, where.line + 1 if where else 0) from error
    except RecursionError:
        raise WrongFile("it is nested too deeply") from None


def _content(node: yaml.Node, known: dict[int, object]) -> object:
    """The content of a node. `known`: that of nodes that were read, for aliases."""
    import yaml

    if id(node) in known:
        return known[id(node)]
    content: object
    if isinstance(node, yaml.ScalarNode):
        content = node.value if node.style else Unquoted(node.value)
    elif isinstance(node, yaml.SequenceNode):
        content = [_content(one, known) for one in node.value]
    else:
        content = Located()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise WrongFile("a key must be a text", line)
            content[key.value] = _content(value, known)
            content.lines[key.value] = line
    known[id(node)] = content
    return content
