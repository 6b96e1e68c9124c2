"""Giving memory back to the system after a burst of requests.

glibc keeps what was freed, for the next burst: some 10 MiB after a few hundred streams. On the
small machines that Kefu is for somebody else may need them meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable


def trimmer() -> Callable[[], object] | None:
    """glibc's `malloc_trim`: milliseconds, so for an idle moment; None where there is no glibc."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return lambda: trim(0)
