"""Checks the images of visitors, and cuts away everything that is not needed to show them.

Nothing is decoded: the size is in the first bytes of a file. What remains are the parts of a file
on a list, so places, cameras, comments, colour profiles, thumbnails and bytes behind the end are
gone. Sources: ITU-T T.81 (JPEG), PNG third edition, RFC 9649 (WebP).
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kefu.errors import InvalidRequest
from kefu.messages import Image

MAX_IMAGES: Final = 3
"""Images of one message."""
MAX_BYTES: Final = 1 << 20
"""Bytes of one image."""
MAX_SIDE: Final = 1568
"""Pixels of the longer side: the most that a model of Claude looks at."""
MAX_PARTS: Final = 2000
"""Parts of a file: enough for one that is written in pieces of 512 bytes."""
MAX_URL_CHARS: Final = 64 + (MAX_BYTES + 2) // 3 * 4
"""Characters of a data URL with an image of the longest length."""

_URL: Final = re.compile(r"data:[^,]{0,50};base64,", re.IGNORECASE)
_ID: Final = re.compile(r"([1-9][0-9]{0,9})-([0-9])")

_TYPES: Final = "Only JPEG, PNG and WebP pictures can be sent."
_NO_DATA_URL: Final = f"{_TYPES} Send them as data URLs: Kefu fetches no addresses."
_TOO_LARGE: Final = "The picture is larger than 1 MB."
_TOO_WIDE: Final = f"The picture has a side of more than {MAX_SIDE} pixels."
_TOO_MANY: Final = f"At most {MAX_IMAGES} pictures can be sent with a message."
_DAMAGED: Final = "The picture is damaged."
_MOVING: Final = "Pictures that move cannot be sent."


class _NotShown(Exception):
    """The text is a sentence for the visitor."""


class _Sized(NamedTuple):
    """An image without metadata, and its size in pixels."""

    width: int
    height: int
    data: bytes


def images_in(urls: Sequence[str], param: str = "images") -> tuple[Image, ...]:
    """The images of a message's data URLs, without metadata. Raises InvalidRequest for `param`."""
    if len(urls) > MAX_IMAGES:
        raise InvalidRequest(_TOO_MANY, param=param)
    try:
        return tuple(_image(url) for url in urls)
    except _NotShown as refused:
        raise InvalidRequest(str(refused), param=param) from None


def url_of(image: Image) -> str:
    """The data URL of an image."""
    return f"data:{image.type};base64,{b64encode(image.data).decode()}"


def type_of(data: bytes) -> str:
    """The type of an image that was checked before; `application/octet-stream` for other bytes."""
    found = (type for type, signature, _ in _KINDS if signature.match(data))
    return next(found, "application/octet-stream")


def texts_only(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of a request without their images, for a model that sees none."""
    return [
        {**one, "content": one["content"][0].get("text", "")}
        if isinstance(one["content"], list)
        else one
        for one in messages
    ]


def stored(images: Sequence[Image]) -> str:
    """Types and sizes, as a store has them with the message; "" without images."""
    sizes = [[one.type, one.width, one.height] for one in images]
    return json.dumps(sizes, separators=(",", ":")) if sizes else ""


def described(message_id: int, images: str) -> list[dict[str, object]]:
    """The images of a message that `stored` has written: `id`, `type`, `width` and `height`."""
    return [
        {"id": f"{message_id}-{number}", "type": type, "width": width, "height": height}
        for number, (type, width, height) in enumerate(json.loads(images))
    ]


def place_of(id: str) -> tuple[int, int] | None:
    """The message of an image, and its number in the message; None for a text that is no id."""
    found = _ID.fullmatch(id)
    return (int(found[1]), int(found[2])) if found else None


def _image(url: str) -> Image:
    if not (start := _URL.match(url)):
        raise _NotShown(_NO_DATA_URL)
    if len(url) > MAX_URL_CHARS:
        raise _NotShown(_TOO_LARGE)
    try:
        data = b64decode(url[start.end() :], validate=True)
    except ValueError:
        raise _NotShown(_DAMAGED) from None
    if len(data) > MAX_BYTES:
        raise _NotShown(_TOO_LARGE)
    kind = next((one for one in _KINDS if one[1].match(data)), None)
    if kind is None:
        raise _NotShown(_TYPES)
    type, _, cut = kind
    try:
        found = cut(data)
    except IndexError:  # a part ends behind the file
        raise _NotShown(_DAMAGED) from None
    if max(found.width, found.height) > MAX_SIDE:
        raise _NotShown(_TOO_WIDE)
    if not (found.width and found.height):
        raise _NotShown(_DAMAGED)
    return Image(type, *found)


def _part(data: bytes, start: int, stop: int) -> bytes:
    """Raises IndexError unless all bytes of the part are there."""
    if stop > len(data):
        raise IndexError
    return data[start:stop]


# JPEG

_MARKER: Final = re.compile(rb"\xff[^\x00\x01\xd0-\xd7\xff]")
"""The next marker in the data of a scan: not an escaped 0xFF, a restart or a fill byte."""
_FRAMES: Final = b"\xc0\xc1\xc2"
"""Baseline, extended and progressive frames: the others are shown by no browser."""
_SCAN, _END = 0xDA, 0xD9
_SHOWN: Final = (*_FRAMES, _SCAN, _END, 0xC4, 0xDB, 0xDD)
"""Frames, scans and the end; Huffman tables, quantization tables and restart intervals."""


def _jpeg(data: bytes) -> _Sized:
    kept, size = [data[:2]], (0, 0)
    for marker, segment in _segments(data):
        if marker in _FRAMES:
            if size != (0, 0) or len(segment) < 10:
                raise _NotShown(_DAMAGED)
            size = int.from_bytes(segment[7:9], "big"), int.from_bytes(segment[5:7], "big")
        elif 0xC0 <= marker <= 0xCF and marker != 0xC4:
            raise _NotShown(_TYPES)
        if marker in _SHOWN or _is_needed(marker, segment):
            kept.append(segment)
    return _Sized(*size, b"".join(kept))


def _segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The segments with their markers up to the end of the image; a scan with its data."""
    at, scanned = 2, False
    for _ in range(MAX_PARTS):
        if data[at] != 0xFF:
            raise _NotShown(_DAMAGED)
        if (marker := data[at + 1]) == 0xFF:  # a fill byte
            at += 1
            continue
        if marker == _END and scanned:
            yield marker, data[at : at + 2]
            return
        end = at + 2 + int.from_bytes(_part(data, at + 2, at + 4), "big")
        _part(data, at, end)
        if marker == _SCAN:
            if not (following := _MARKER.search(data, end)):
                raise _NotShown(_DAMAGED)
            end, scanned = following.start(), True
        yield marker, data[at:end]
        at = end
    raise _NotShown(_DAMAGED)


def _is_needed(marker: int, segment: bytes) -> bool:
    """Whether a segment of an application says how colours are stored. JFIF may have a thumbnail.

    Such a segment of its shortest length has no room for anything else.
    """
    return (marker == 0xE0 and segment[4:9] == b"JFIF\0" and len(segment) == 18) or (
        marker == 0xEE and segment[4:9] == b"Adobe" and len(segment) == 16
    )


# PNG

_NEEDED_CHUNKS: Final = (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB")
_CHUNK_LENGTHS: Final = {b"IHDR": 13, b"IEND": 0, b"gAMA": 4, b"cHRM": 32, b"sRGB": 1}
"""The lengths of the chunks that have only one, so that they have no room for anything else."""


def _png(data: bytes) -> _Sized:
    kept, names, at = [data[:8]], set[bytes](), 8
    for _ in range(MAX_PARTS):
        length = int.from_bytes(_part(data, at, at + 4), "big")
        name, chunk = data[at + 4 : at + 8], _part(data, at, at + 12 + length)
        if name in (b"acTL", b"fcTL", b"fdAT"):
            raise _NotShown(_MOVING)
        if (name == b"IHDR") != (not names):
            raise _NotShown(_DAMAGED)
        if name in _NEEDED_CHUNKS:
            if _CHUNK_LENGTHS.get(name, length) != length:
                raise _NotShown(_DAMAGED)
            kept.append(chunk)
        elif not name[:1].islower():  # a chunk without which no image can be shown
            raise _NotShown(_DAMAGED)
        if name == b"IEND" and b"IDAT" in names:
            width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
            return _Sized(width, height, b"".join(kept))
        names.add(name)
        at += len(chunk)
    raise _NotShown(_DAMAGED)


# WebP

_ALPHA: Final = 0x10
"""The only flag of an extended file that is kept: the others announce what is cut away."""


def _webp(data: bytes) -> _Sized:
    canvas, size, kept = (0, 0), (0, 0), list[bytes]()
    for name, chunk in _riff(data):
        content = chunk
        if name in (b"ANIM", b"ANMF"):
            raise _NotShown(_MOVING)
        if name == b"VP8X":
            _part(content, 0, 10)
            canvas = 1 + _little(content[4:7]), 1 + _little(content[7:10])
            content = bytes((content[0] & _ALPHA, 0, 0, 0)) + content[4:10]
        elif name in (b"VP8 ", b"VP8L"):
            if size != (0, 0):
                raise _NotShown(_DAMAGED)
            size = _frame_size(name, content)
        elif name != b"ALPH":
            continue
        kept.append(
            name + len(content).to_bytes(4, "little") + content + b"\0" * (len(content) % 2)
        )
    if size == (0, 0) or canvas not in ((0, 0), size):
        raise _NotShown(_DAMAGED)
    body = b"WEBP" + b"".join(kept)
    return _Sized(*size, b"RIFF" + len(body).to_bytes(4, "little") + body)


def _riff(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The names and contents of the chunks, up to the end that the file says."""
    at, end = 12, 8 + _little(data[4:8])
    _part(data, 0, end)
    for _ in range(MAX_PARTS):
        if at >= end:
            return
        length = _little(_part(data, at + 4, at + 8))
        yield data[at : at + 4], _part(data, at + 8, at + 8 + length)
        at += 8 + length + length % 2
    raise _NotShown(_DAMAGED)


def _frame_size(name: bytes, content: bytes) -> tuple[int, int]:
    if name == b"VP8L":
        bits = _little(_part(content, 1, 5))
        if content[0] != 0x2F:
            raise _NotShown(_DAMAGED)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if _part(content, 3, 10)[:3] != b"\x9d\x01\x2a":
        raise _NotShown(_DAMAGED)
    return _little(content[6:8]) & 0x3FFF, _little(content[8:10]) & 0x3FFF


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


_KINDS: Final = (
    ("image/jpeg", re.compile(rb"\xff\xd8\xff"), _jpeg),
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n"), _png),
    ("image/webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL), _webp),
)
