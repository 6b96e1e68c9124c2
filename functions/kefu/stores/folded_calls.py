"""Reads call records of earlier versions, in which texts of a chat were replaced by references.

A folded field is `[style, template]`, or `{"base64": …}`. The template is JSON with these objects:

- `{"=": 12}`: the text of message 12
- `{"~": "1-6,9-12"}` in a list: these messages, each as `{"role": …, "content": …}`
- `{"#": "DIGEST"}`: the text with this digest
- `{"+": ["\\n", {"=": 12}]}`: these texts, concatenated
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kefu.sessions.store.model import StoredMessage

FOLDED_FIELDS = ("request", "response", "meta", "error")
"""The fields that may be folded."""

STYLES = tuple(
    (ascii_only, separators)
    for separators in ((",", ":"), (", ", ": "))
    for ascii_only in (False, True)
)
"""The formats of the JSON. A field has the number of its format."""


class Known(NamedTuple):
    """The texts that the records of a chat refer to."""

    messages: Mapping[int, StoredMessage]
    texts: Mapping[str, str]
    """By digest. A chat stored each one once."""


def known(messages: Iterable[StoredMessage], texts: Iterable[tuple[str, bytes]]) -> Known:
    """The stored texts are compressed. A damaged one counts as missing."""
    found: dict[str, str] = {}
    for name, text in texts:
        try:
            found[name] = zlib.decompress(text).decode(errors="surrogatepass")
        except (zlib.error, UnicodeDecodeError):
            continue
    return Known({one.id: one for one in messages}, found)


def unfold(fields: dict[str, Any], known: Callable[[], Known]) -> dict[str, Any]:
    """The fields of a record, with texts in place of references.

    A field whose text is missing or was replaced is left out; `damaged` has its name.
    """
    damaged = []
    for name in FOLDED_FIELDS:
        if isinstance(fields.get(name, ""), str):
            continue
        try:
            fields[name] = _unfolded(fields[name], known)
        except KeyError:
            damaged.append(name)
        else:
            expected = {"request": "sha256", "response": "answer"}.get(name, "")
            if not _digest(fields[name]).startswith(fields.get(expected, "")):
                damaged.append(name)
    whole = {name: value for name, value in fields.items() if name not in damaged}
    return {**whole, "damaged": damaged}


def _unfolded(folded: Any, known: Callable[[], Known]) -> str:
    if isinstance(folded, dict):
        return base64.b64decode(folded["base64"]).decode(errors="surrogateescape")
    style, template = folded
    ascii_only, separators = STYLES[style]
    value = _restored(template, known())
    return json.dumps(value, ensure_ascii=ascii_only, separators=separators)


def _restored(value: Any, known: Known) -> Any:
    if isinstance(value, list):
        return [part for one in value for part in _parts(one, known)]
    if not isinstance(value, dict):
        return value
    if list(value) == ["="]:
        return known.messages[value["="]].content
    if list(value) == ["#"]:
        return known.texts[value["#"]]
    if list(value) == ["+"]:
        return "".join(_restored(part, known) for part in value["+"])
    return {name: _restored(part, known) for name, part in value.items()}


def _parts(value: Any, known: Known) -> list[Any]:
    """The values for one element of a list; ranges of messages give several."""
    if not isinstance(value, dict) or list(value) != ["~"]:
        return [_restored(value, known)]
    ranges = (part.partition("-") for part in value["~"].split(","))
    found = (known.messages[n] for a, _, b in ranges for n in range(int(a), int(b or a) + 1))
    return [{"role": one.role, "content": one.content} for one in found]


def _digest(text: str) -> str:
    whole = hashlib.sha256(text.encode(errors="surrogateescape")).digest()
    return base64.b64encode(whole).rstrip(b"=").decode()
