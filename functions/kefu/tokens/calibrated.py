"""An estimate of o200k tokens: what a text is made of, each part with a weight of its own.

No tokenizer, a pass or two in C for each part: microseconds where a tokenizer needs milliseconds.
The weights are fitted by `python -m benchmarks.calibrate`; docs/context.md has what they miss by.
"""

from __future__ import annotations

_LOWER = bytes(range(ord("a"), ord("z") + 1))
_UPPER = _LOWER.upper()
_LETTERS = _LOWER + _UPPER

# Weights are thousandths of a token. `b""` takes what no class before it did.
_ASCII = (
    (_LOWER, 115),
    (b" ", 30),
    (_UPPER, 295),
    (b"0123456789", 970),
    (b"\t\n\v\f\r", 1030),
    (b".,", 415),
    (b"", 115),
)
# The first byte of a character stands for it; those that follow weigh nothing.
_LEADS = (
    (bytes(range(0xE4, 0xEA)), 765),  # Chinese
    (b"\xef", 940),  # full-width punctuation and letters
    (b"\xe3", 670),  # kana, 。and 、
    (bytes(range(0xEA, 0xEE)), 710),  # hangul
    (bytes(range(0xD0, 0xD4)), 260),  # Cyrillic
    (bytes(range(0xD4, 0xE0)), 390),  # Hebrew, Arabic
    (b"\xe0\xe1", 395),  # the scripts of South and South-East Asia
    (b"\xe2\xee", 735),  # typographic marks, symbols
    (bytes(range(0xC2, 0xD0)), 595),  # accented letters, Greek
    (b"", 2200),  # emoji
)
_NOT_ASCII = bytes(range(0x80, 0x100))
_NOT_LEADS = bytes(range(0xC2))

# Where ASCII changes: the letters of a word weigh little after its first.
_BEFORE_WORDS = bytes.maketrans(bytes(range(256)), bytes(b" a"[c in _LETTERS] for c in range(256)))
_MARKS = bytes(c for c in range(0x21, 0x7F) if c not in _LETTERS + b"0123456789")
_KINDS = bytes.maketrans(
    _LOWER + _UPPER + _MARKS, b"a" * len(_LOWER) + b"A" * len(_UPPER) + b"." * len(_MARKS)
)
_CHANGES = (
    (b" a", 540),  # a word begins
    (b"aA", 105),  # a name goes on, as in camelCase
    (b" .", 1405),  # a mark behind a space
)

PARTS = (*_ASCII, *_CHANGES, *_LEADS)


def estimate_calibrated(text: str) -> int:
    """0 for the empty text, else at least 1; a lone surrogate counts as hangul does."""
    thousandths = 0
    for count, (_, weight) in zip(parts_of(text), PARTS, strict=False):
        thousandths += count * weight
    return -(-thousandths // 1000) or len(text[:1])


def parts_of(text: str) -> list[int]:
    """How many of each part there are; of ASCII's alone where there is nothing else."""
    data = text.encode("utf-8", "surrogatepass")
    if text.isascii():
        return _parts_of_ascii(data)
    leads = _counts(data.translate(None, _NOT_LEADS), _LEADS)
    return _parts_of_ascii(data.translate(None, _NOT_ASCII)) + leads


def _parts_of_ascii(data: bytes) -> list[int]:
    words = (b" " + data).translate(_BEFORE_WORDS)
    kinds = data.translate(_KINDS)
    counts = _counts(data, _ASCII)
    counts += (words.count(b" a"), kinds.count(b"aA"), kinds.count(b" ."))
    return counts


def _counts(data: bytes, classes: tuple[tuple[bytes, int], ...]) -> list[int]:
    """Each class is taken out in turn: what is gone from the length is how many there were."""
    counts = []
    for members, _ in classes:
        left = data.translate(None, members) if members else b""
        counts.append(len(data) - len(left))
        data = left
    return counts
