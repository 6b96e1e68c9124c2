"""The passages of a page as they are stored: compressed together, because they share words."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from kefu.knowledge.pages import Passage


def packed(passages: Sequence[Passage]) -> bytes:
    return zlib.compress(as_json([list(one) for one in passages]).encode(), 9)


def unpacked(data: bytes) -> list[Passage]:
    return [Passage(*one) for one in json.loads(zlib.decompress(data))]


def as_json(value: object) -> str:
    """JSON on one line. A lone surrogate, which UTF-8 cannot express, becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace").decode()
