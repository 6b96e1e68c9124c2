"""Packs OpenAI's encodings for `kefu.context.tokens`:
`python docs/pack_encodings.py FILE.tiktoken ...`.

The files are those that tiktoken downloads, under their own names or under tiktoken's names for
them in TIKTOKEN_CACHE_DIR; the package litellm holds them, too. Prints the SHA-256 of what it
writes, for `kefu/context/tokens/encodings/__init__.py`.
"""

from __future__ import annotations

import sys
import zlib
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

HOME = Path(__file__).parents[1] / "functions/kefu/context/tokens/encodings"
# As published: tiktoken checks its downloads against the same.
PUBLISHED = {
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "cl100k_base",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "o200k_base",
}


def pack(published: bytes) -> bytes:
    """How many tokens, in four bytes; the length of each, in one; then all of them, end to end."""
    lines = [line.split() for line in published.splitlines()]
    if [int(rank) for _, rank in lines] != list(range(len(lines))):
        raise ValueError("Ranks do not follow each other.")
    tokens = [b64decode(token) for token, _ in lines]
    header = len(tokens).to_bytes(4, "big") + bytes(map(len, tokens))
    return zlib.compress(header + b"".join(tokens), 9)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        content = Path(path).read_bytes()
        name = PUBLISHED[sha256(content).hexdigest()]
        packed = pack(content)
        (HOME / f"{name}.bin").write_bytes(packed)
        print(name, sha256(packed).hexdigest())
