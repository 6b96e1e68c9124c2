"""How tokens that Kefu makes are signed: HMAC-SHA256, with a key for each purpose."""

from __future__ import annotations

import base64
import hashlib
import hmac


def key_for(purpose: str, secret: str) -> bytes:
    """A key of its own, so that what was signed for one purpose is no good for another."""
    return hmac.digest(secret.encode(), purpose.encode(), hashlib.sha256)


def sign(key: bytes, text: str) -> str:
    """43 characters that may stand in a header and in a URL. Any text has a signature."""
    mac = hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")


def is_signed(key: bytes, text: str, signature: str) -> bool:
    """In a time that tells nothing of the right one."""
    return hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), sign(key, text).encode())
