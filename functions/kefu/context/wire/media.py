"""Tokens of images, audio and files, by the formulas that the providers publish.

Sources, as of November 2026: OpenAI's guides "Images and vision" and "Audio", Anthropic's guides
"Vision" and "PDF support". The size of an image is read from its first bytes if they are in the
message; for an image behind an address, the most that the model charges is assumed.
"""

from __future__ import annotations

import re
from struct import unpack_from
from typing import Any, NamedTuple

from kefu.messages import field

_IMAGE_TYPES = frozenset({"image", "image_url", "image-url", "input_image", "computer_screenshot"})
_AUDIO_TYPES = frozenset({"audio", "audio-url", "input_audio"})
_FILE_TYPES = frozenset({"file", "input_file", "document", "document-url", "video-url", "binary"})
# The parts of Bedrock and Gemini have no type; they have one field with this name.
_FILES = ("document", "video", "inlineData", "inline_data", "fileData", "file_data")
_FIELDS = {"image": "image", "audio": "audio", **dict.fromkeys(_FILES, "file")}
_SIGNS = ("source", "data", "format", "mimeType", "mime_type", "fileUri", "file_uri")
_AUDIO_TOKENS_PER_SECOND = 10
_AUDIO_BYTES_PER_SECOND = {"wav": 32_000, "mp3": 4_000}
"""The lowest usual rates: 16 kHz and 16 bits; 32 kbit/s. A higher rate means fewer seconds."""
_CLAUDE_UNTIL_4_6 = re.compile(r"claude-(\d|instant|(opus|sonnet|haiku)-4(?![-.][7-9]))")
"""Later models take larger images: their longer side may have 2,576 pixels in place of 1,568."""
_GEMINI_TILE = 258
"""Gemini: an image of up to 384 x 384 pixels, or a tile of 768 x 768."""
_PAGE_TOKENS = 3_000
"""Anthropic: 1,500 to 3,000 tokens of text per page of a PDF, and its image."""
_UNKNOWN_FILE = 10_000
"""A file that is only named: its size is not in the message."""


class _Tiles(NamedTuple):
    """512-pixel tiles, after scaling into 2048 x 2048 and to a shorter side of 768 pixels."""

    base: int
    tile: int


class _Patches(NamedTuple):
    """32-pixel patches, at most 1,536, times a factor in hundredths."""

    hundredths: int


_IMAGE_PRICES: dict[str, _Tiles | _Patches] = {
    "gpt-4o-mini": _Tiles(2_833, 5_667),
    "gpt-4.1-mini": _Patches(162),
    "gpt-4.1-nano": _Patches(246),
    "gpt-5-mini": _Patches(162),
    "gpt-5-nano": _Patches(246),
    "o4-mini": _Patches(172),
    "gpt-5": _Tiles(70, 140),
    "o1": _Tiles(75, 150),
    "o3": _Tiles(75, 150),
    "computer-use-preview": _Tiles(65, 129),
}
_DEFAULT_PRICE = _Tiles(85, 170)  # gpt-4o, gpt-4.1, gpt-4.5


def _kind(part: Any) -> tuple[str, Any]:
    """`image`, `audio`, `file` or "", and the object with the data."""
    kind = field(part, "type") or field(part, "kind")
    if not isinstance(kind, str):
        if type(part) is dict and _FIELDS.keys().isdisjoint(part):  # as most are
            return "", part
        for name, known in _FIELDS.items():
            inner = field(part, name)
            if inner is not None and any(field(inner, sign) is not None for sign in _SIGNS):
                return _by_media_type(known, inner), inner
        return "", part
    if kind in _IMAGE_TYPES:
        return "image", part
    if kind in _AUDIO_TYPES:
        return "audio", field(part, "input_audio") or part
    return (_by_media_type("file", part), part) if kind in _FILE_TYPES else ("", part)


def _by_media_type(kind: str, value: Any) -> str:
    names = ("mimeType", "mime_type", "mediaType", "media_type")
    media = next((str(found) for name in names if (found := field(value, name))), "")
    start = media.partition("/")[0]
    return start if kind == "file" and start in ("image", "audio") else kind


def media_tokens(part: Any, model: str, texts: list[str]) -> int | None:
    """The tokens of an image, of audio or of a file, in the format of any API; else None.

    A file's plain text is appended to `texts`.
    """
    kind, inner = _kind(part)
    if not kind:
        return None
    if kind == "image":
        image = field(inner, "image_url")
        detail = field(inner, "detail") or field(image, "detail") or "auto"
        return image_tokens(_image_size(inner), model, low=detail == "low")
    if kind == "audio":
        return _audio_tokens(inner)
    return _file_tokens(field(inner, "file") or inner, texts)


def image_tokens(size: tuple[int, int] | None, model: str, *, low: bool = False) -> int:
    """The tokens of an image of `(width, height)` pixels; None: an unknown size, the most.

    `low` is OpenAI's `detail: low`.
    """
    width, height = size or (2_048, 2_048)
    name = model.lower().rpartition("/")[2]
    if "gemini" in name:
        tiles = 1 if max(width, height) <= 384 else -(-width // 768) * -(-height // 768)
        return _GEMINI_TILE * tiles
    if "claude" in name:
        edge, most = (1_568, 1_600) if _CLAUDE_UNTIL_4_6.search(name) else (2_576, 4_784)
        scale = min(1.0, edge / max(width, height, 1))
        return min(most, -(-int(width * scale) * int(height * scale) // 750))
    price = _price(name)
    if isinstance(price, _Patches):
        patches = min(1_536, -(-width // 32) * -(-height // 32))
        return -(-patches * price.hundredths // 100)
    return price.base if low else price.base + price.tile * _openai_tiles(size)


def _openai_tiles(size: tuple[int, int] | None) -> int:
    width, height = size or (768, 2_048)  # the most tiles
    scale = min(1.0, 2_048 / max(width, height, 1))
    scale = min(scale, 768 / max(1.0, min(width, height) * scale) * scale)
    return -(-max(1, int(width * scale)) // 512) * -(-max(1, int(height * scale)) // 512)


def _price(name: str) -> _Tiles | _Patches:
    found = [known for known in _IMAGE_PRICES if name == known or name.startswith(f"{known}-")]
    return _IMAGE_PRICES[max(found, key=len)] if found else _DEFAULT_PRICE


def _image_size(part: Any) -> tuple[int, int] | None:
    data = _data_of(part)
    if isinstance(data, bytes):
        return size_of_image(data[:65_536])
    if data.startswith("data:"):
        data = data.partition(",")[2]
    elif "://" in data[:12]:
        return None
    return size_of_image(_decoded(data))


def _data_of(part: Any) -> str | bytes:
    """The content of a file as bytes or base64, or its address; "" for a file with only an id."""
    places = (part, field(part, "source"), field(part, "image_url"), field(part, "file"))
    for place in places:
        if isinstance(place, str | bytes):
            return place
        for name in ("data", "bytes", "url", "base64", "image", "image_url", "file_data"):
            if isinstance(found := field(place, name), str | bytes) and found:
                return found
    return ""


def _decoded(data: str, characters: int = 65_536) -> bytes:
    """The first bytes of a base64 text; empty if the text is not base64."""
    from base64 import b64decode  # imported here because only images need it

    try:
        return b64decode(data[:characters])
    except ValueError:
        return b""


def size_of_image(head: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from the start of a PNG, GIF, JPEG or WebP file, else None."""
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        return _two(">II", head, 16)
    if head[:4] == b"GIF8" and len(head) >= 10:
        return _two("<HH", head, 6)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp(head)
    return _jpeg(head) if head[:2] == b"\xff\xd8" else None


def _two(layout: str, head: bytes, at: int) -> tuple[int, int]:
    first, second = unpack_from(layout, head, at)
    return first, second


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8 ":
        width, height = _two("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":  # three bytes each
        width, height = (int.from_bytes(head[at : at + 3], "little") for at in (24, 27))
        return width + 1, height + 1
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _two(">HH", head, at + 5)
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


def _audio_tokens(audio: Any) -> int:
    data = _data_of(audio)
    size = len(data) if isinstance(data, bytes) else len(data.rstrip("=")) * 3 // 4
    rate = _AUDIO_BYTES_PER_SECOND.get(str(field(audio, "format")), 4_000)
    return -(-size * _AUDIO_TOKENS_PER_SECOND // rate)


def _file_tokens(file: Any, texts: list[str]) -> int:
    source = field(file, "source") or file
    kind = field(source, "type")
    if kind == "text" and isinstance(text := field(source, "data"), str):
        texts.append(text)
        return 0
    content = field(source, "content")
    if kind == "content" or content is not None:
        blocks = [content] if isinstance(content, str) else content or ()
        texts += [b if isinstance(b, str) else str(field(b, "text") or "") for b in blocks]
        return 0
    data = _data_of(file)
    if not data or (isinstance(data, str) and "://" in data[:12]):
        return _UNKNOWN_FILE
    whole = data if isinstance(data, bytes) else _decoded(data.partition(",")[2] or data, len(data))
    pages = whole.count(b"/Type /Page") + whole.count(b"/Type/Page")
    pages -= whole.count(b"/Type /Pages") + whole.count(b"/Type/Pages")
    return max(1, pages) * _PAGE_TOKENS
