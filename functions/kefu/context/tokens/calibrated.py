"""Estimates tokens as a weighted sum over classes of characters, with weights for three tokenizers.

The count takes microseconds, a tokenizer's milliseconds: the characters are counted by methods of
`bytes`. `python -m benchmarks.calibrate` fits the weights; docs/context.md lists the errors.
"""

from __future__ import annotations

_LOWER = bytes(range(ord("a"), ord("z") + 1))
_UPPER = _LOWER.upper()
_LETTERS = _LOWER + _UPPER

# Weights are thousandths of a token. The class `b""` takes all remaining characters.
_ASCII = (
    (_LOWER, 115),
    (b" ", 30),
    (_UPPER, 295),
    (b"0123456789", 970),
    (b"\t\n\v\f\r", 1030),
    (b".,", 415),
    (b"", 115),
)
# Classes by the first byte of a character in UTF-8; its other bytes have no weight.
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

# Changes of class within ASCII text: the first letter of a word weighs more than the others.
_BEFORE_WORDS = bytes.maketrans(bytes(range(256)), bytes(b" a"[c in _LETTERS] for c in range(256)))
_MARKS = bytes(c for c in range(0x21, 0x7F) if c not in _LETTERS + b"0123456789")
_KINDS = bytes.maketrans(
    _LOWER + _UPPER + _MARKS, b"a" * len(_LOWER) + b"A" * len(_UPPER) + b"." * len(_MARKS)
)
_CHANGES = (
    (b" a", 540),  # a word begins
    (b"aA", 105),  # a capital after a small letter, as in camelCase
    (b" .", 1405),  # a punctuation mark after a space
)

WEIGHTS = (*_ASCII, *_CHANGES, *_LEADS)
"""Each class with its weight, in the order of `parts_of`."""


# Weights of the same parts for cl100k, the encoding of GPT-4 and GPT-3.5.
CL100K = (
    *(131, 48, 319, 975, 766, 515, 93, 516, 0, 1356),
    *(1108, 1686, 1005, 1140, 432, 871, 1057, 731, 1435, 2900),
)
# For Claude: fitted to the tokenizer of Claude 2, the last one that Anthropic has published.
CLAUDE = (
    *(95, 1, 324, 919, 891, 797, 132, 744, 18, 1394),
    *(945, 1500, 976, 1320, 530, 1103, 1525, 1361, 2309, 4000),
)
_O200K = tuple(weight for _, weight in WEIGHTS)


def estimate_calibrated(text: str) -> int:
    """Estimated o200k tokens: 0 for the empty text, else at least 1.

    A lone surrogate counts as a hangul character.
    """
    return estimate(_O200K, text)


def estimate(weights: tuple[int, ...], text: str) -> int:
    """Estimated tokens of the tokenizer for which the weights are fitted."""
    thousandths = 0
    for count, weight in zip(parts_of(text), weights, strict=False):
        thousandths += count * weight
    return -(-thousandths // 1000) or len(text[:1])


def parts_of(text: str) -> list[int]:
    """The number of characters of each class in `WEIGHTS`; only ASCII classes for ASCII text."""
    data = text.encode("utf-8", "surrogatepass")
    letters = data if text.isascii() else data.translate(None, _NOT_ASCII)
    words = (b" " + letters).translate(_BEFORE_WORDS)
    kinds = letters.translate(_KINDS)
    counts = _counts(letters, _ASCII)
    counts += (words.count(b" a"), kinds.count(b"aA"), kinds.count(b" ."))
    if letters is not data:
        counts += _counts(data.translate(None, _NOT_LEADS), _LEADS)
    return counts


def _counts(data: bytes, classes: tuple[tuple[bytes, int], ...]) -> list[int]:
    """Removes one class after the other; each loss of length is the count of that class."""
    counts = []
    for members, _ in classes:
        remaining = data.translate(None, members) if members else b""
        counts.append(len(data) - len(remaining))
        data = remaining
    return counts
