"""Checks the keys that clients of `/v1` send as `Authorization: Bearer`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

_SIGNING_PURPOSE = b"kefu client key"


class ClientKeys:
    """The accepted keys. Without keys, every client may use `/v1`."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def name_of(self, key: str) -> str | None:
        """The name of an accepted key, 12 hexadecimal digits for limits and logs; else None.

        Every key is compared in constant time, so the time tells nothing about any of them.
        """
        given, found = _digest(key), None
        for digest in self._digests:
            if hmac.compare_digest(given, digest):
                found = digest.hex()[:12]
        return found


def _digest(key: str) -> bytes:
    return hmac.digest(_SIGNING_PURPOSE, key.encode("utf-8", "surrogatepass"), hashlib.sha256)
