"""Loads OpenAI's two encodings from this package, so that none is downloaded; see README.md."""

from __future__ import annotations

import zlib
from hashlib import sha256
from importlib.resources import files
from itertools import accumulate, pairwise

SHA256 = {
    "cl100k_base": "1b57c7f611a970e92cfb0d6b24bba94d62b107e2fdeb89a0ef76f248e6169b88",
    "o200k_base": "dce434c331e2b595eab34335423e5d1924359ebb49b6d2eae3c4539c0c0ed1c0",
}
"""SHA-256 of each packed file. `docs/pack_encodings.py` made the files from OpenAI's."""


def load(name: str) -> list[bytes]:
    """The bytes of every token, in order of rank. Raises ValueError if the file is damaged."""
    packed = files(__name__).joinpath(f"{name}.bin").read_bytes()
    if sha256(packed).hexdigest() != SHA256[name]:
        raise ValueError(
            f"kefu/context/tokens/encodings/{name}.bin is damaged: its SHA-256 is wrong."
        )
    data = zlib.decompress(packed)
    start = 4 + int.from_bytes(data[:4], "big")
    ends = accumulate(data[4:start], initial=start)
    return [data[begin:end] for begin, end in pairwise(ends)]
