"""Four bytes of UTF-8 are about one token: the estimate that `build_llm_messages` budgets with."""

from __future__ import annotations


def estimate_message_tokens(text: str) -> int:
    """0 for the empty text, else ceil(UTF-8 bytes / 4).

    A lone surrogate counts 3 bytes and a pair of them 4, as Node's `Buffer.byteLength` has it.
    """
    return -(-_utf8_length(text) // 4)


def _utf8_length(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        # Joins surrogates that are a pair and leaves U+FFFD, also 3 bytes, for those that are not.
        units = text.encode("utf-16-le", "surrogatepass")
        return len(units.decode("utf-16-le", "replace").encode())
