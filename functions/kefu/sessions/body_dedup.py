"""Stores request bodies without the texts that the store already contains.

Each request repeats the earlier messages of its chat. `fold` replaces messages by their ids, and
other long strings, for example the system prompt, by digests. The texts of the digests are stored
once per chat. `fold` checks that `unfold` restores the same bytes; otherwise it keeps the body
unchanged. A folded body is JSON. Stores keep the SHA-256 of the body, to verify it when it is read.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Final, NamedTuple, cast

from kefu.messages import Role
from kefu.sessions.model import StoredMessage

MESSAGE: Final = "="
"""`{"=": 12}`: the text of message 12."""
MESSAGES: Final = "~"
"""`{"~": "1-6,9-12"}` in a list: these messages, each as `{"role": …, "content": …}`."""
TEXT: Final = "#"
"""`{"#": "DIGEST"}`: the text with this digest."""
JOINED: Final = "+"
"""`{"+": ["\\n", {"=": 12}]}`: these texts, concatenated."""
MARKS: Final = frozenset({MESSAGE, MESSAGES, TEXT, JOINED})

STYLES: Final = tuple(
    (ascii_only, separators)
    for separators in ((",", ":"), (", ", ": "))
    for ascii_only in (False, True)
)
"""The formats of common JSON serializers, for example Python's `json.dumps` and JSON.stringify."""

SHORT: Final = 24
"""Bytes. A message with at most this length stays in the body: a reference would not be shorter."""
LONG: Final = 64
"""Bytes. Other strings with at least this length are replaced by digests."""

Texts = MutableMapping[str, str]


class Content(NamedTuple):
    role: Role
    text: str


class MessageIndex:
    """Finds stored messages by their text, for references in a body."""

    def __init__(self, messages: Iterable[StoredMessage]) -> None:
        self.by_id = {one.id: Content(one.role, one.content) for one in messages}
        self._ids: dict[Content, list[int]] = {}
        self._newest: dict[str, int] = {}
        for number in sorted(self.by_id):
            content = self.by_id[number]
            self._ids.setdefault(content, []).append(number)
            if len(content.text.encode(errors="replace")) > SHORT:
                self._newest[content.text] = number

    def id_before(self, number: int, content: Content) -> int | None:
        """The largest id below `number` with this content; else the largest id; else None."""
        ids = self._ids.get(content)
        return max((one for one in ids if one < number), default=ids[-1]) if ids else None

    def inside(self, text: str) -> tuple[int, str] | None:
        """`(id, text)` of the longest message whose text occurs in `text`; None if there is none.

        Of several messages with the same text it is the newest.
        """
        if text in self._newest:
            return self._newest[text], text
        found = [message for message in self._newest if message in text]
        longest = max(found, key=len, default="")
        return (self._newest[longest], longest) if longest else None


class Unfoldable(ValueError):
    """A message or a text that a folded body refers to is missing or was changed."""


def digest(body: bytes) -> str:
    """SHA-256 in Base64, without padding."""
    return base64.b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()


def fold(body: bytes, messages: MessageIndex, texts: Texts | None = None) -> object:
    """A body as a JSON value: `[style, template]`, a string, or `{"base64": …}`.

    A template refers to `messages`. With `texts`, it also refers to other long strings, which are
    added to `texts` by their digests.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
    added: dict[str, str] = {}
    try:
        template = _Folding(messages, None if texts is None else added).fold(json.loads(text))
        for style, (ascii_only, _) in enumerate(STYLES):
            if ascii_only and not text.isascii():
                continue
            folded = [style, template]
            if unfold(folded, messages.by_id, added) == body:
                if texts is not None:
                    texts.update(added)
                return folded
    except (ValueError, RecursionError):
        pass  # the body is not JSON, or cannot be restored from a template
    return text


def unfold(folded: object, messages: Mapping[int, Content], texts: Mapping[str, str]) -> bytes:
    """The original body. Raises Unfoldable when a message or a text is missing."""
    if isinstance(folded, str):
        return folded.encode()
    if isinstance(folded, dict):
        return base64.b64decode(folded["base64"])
    style, template = cast(tuple[int, object], folded)
    ascii_only, separators = STYLES[style]
    try:
        value = _Unfolding(messages, texts).unfold(template)
    except KeyError as missing:
        raise Unfoldable(f"{missing} is not there") from missing
    return json.dumps(value, ensure_ascii=ascii_only, separators=separators).encode()


def references(folded: object) -> tuple[set[int], set[str]]:
    """`(ids, digests)` of the messages and texts that a folded body refers to."""
    ids: set[int] = set()
    digests: set[str] = set()
    waiting = [folded[1]] if isinstance(folded, list) else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            mark = _mark_of(value)
            if mark == MESSAGE:
                ids.add(value[MESSAGE])
            elif mark == MESSAGES:
                ids.update(_numbers(value[MESSAGES]))
            elif mark == TEXT:
                digests.add(value[TEXT])
            else:
                waiting += value.values()
    return ids, digests


class _Folding:
    def __init__(self, messages: MessageIndex, texts: Texts | None) -> None:
        self._messages = messages
        self._texts = texts

    def fold(self, value: object) -> object:
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, dict):
            if _mark_of(value):
                raise ValueError("looks like a reference, and is none")
            return {name: self.fold(part) for name, part in value.items()}
        return value

    def _string(self, text: str) -> object:
        size = len(text.encode(errors="replace"))
        if size > SHORT and (found := self._messages.inside(text)):
            number, inner = found
            before, _, after = text.partition(inner)
            if not before and not after:
                return {MESSAGE: number}
            return {JOINED: [self._string(before), {MESSAGE: number}, self._string(after)]}
        if size >= LONG and self._texts is not None:
            name = digest(text.encode(errors="surrogatepass"))[:16]
            self._texts[name] = text
            return {TEXT: name}
        return text

    def _list(self, values: list[object]) -> object:
        """Fold a list from its end to its start.

        In this order, `id_before` can choose consecutive ids when several messages are equal.
        """
        folded: list[object] = []
        run: list[int] = []
        last = 1 << 62
        for value in reversed(values):
            number = self._number(value, last)
            if number is not None:
                run.append(number)
                last = number
                continue
            if run:
                folded.append({MESSAGES: _ranges(run[::-1])})
                run = []
            folded.append(self.fold(value))
        if run:
            folded.append({MESSAGES: _ranges(run[::-1])})
        return folded[::-1]

    def _number(self, value: object, last: int) -> int | None:
        if not isinstance(value, dict) or list(value) != ["role", "content"]:
            return None
        role, text = value["role"], value["content"]
        if not isinstance(text, str) or not isinstance(role, str):
            return None
        return self._messages.id_before(last, Content(cast(Role, role), text))


class _Unfolding:
    """Restores a value from a template. Raises KeyError for a missing message or text."""

    def __init__(self, messages: Mapping[int, Content], texts: Mapping[str, str]) -> None:
        self._messages = messages
        self._texts = texts

    def unfold(self, value: object) -> object:
        if isinstance(value, list):
            return [part for one in value for part in self._parts(one)]
        if not isinstance(value, dict):
            return value
        mark = _mark_of(value)
        if mark == MESSAGE:
            return self._messages[value[MESSAGE]].text
        if mark == TEXT:
            return self._texts[value[TEXT]]
        if mark == JOINED:
            return "".join(str(self.unfold(part)) for part in value[JOINED])
        return {name: self.unfold(part) for name, part in value.items()}

    def _parts(self, value: object) -> list[object]:
        """The values for one element of a folded list; a range of messages gives several."""
        if isinstance(value, dict) and _mark_of(value) == MESSAGES:
            found = (self._messages[number] for number in _numbers(value[MESSAGES]))
            return [{"role": role, "content": text} for role, text in found]
        return [self.unfold(value)]


def _mark_of(value: Mapping[str, object]) -> str | None:
    """The mark of a reference; None for any other object."""
    return next(iter(MARKS & value.keys()), None) if len(value) == 1 else None


def _ranges(numbers: list[int]) -> str:
    """`[1, 2, 3, 7]` as `"1-3,7"`. The numbers keep their order, which need not be ascending."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] + 1 == number:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def _numbers(ranges: str) -> list[int]:
    pairs = (part.partition("-") for part in ranges.split(","))
    return [n for a, _, b in pairs for n in range(int(a), int(b or a) + 1)]
