"""Signs the tokens that Kefu issues: HMAC-SHA256, with a separate key for each purpose."""

from __future__ import annotations

import base64
import hashlib
import hmac


def key_for(purpose: str, secret: str) -> bytes:
    """The signing key for a purpose, so that a token for one purpose is invalid for the others."""
    return hmac.digest(secret.encode(), purpose.encode(), hashlib.sha256)


def sign(key: bytes, text: str) -> str:
    """The signature of any text: 43 characters that are safe in headers and URLs."""
    mac = hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")


def is_signed(key: bytes, text: str, signature: str) -> bool:
    """Whether `signature` belongs to `text`. Compares in constant time."""
    return hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), sign(key, text).encode())
