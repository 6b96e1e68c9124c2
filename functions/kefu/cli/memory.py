"""Returns freed memory to the system after a burst of requests.

glibc keeps freed memory for later use: some 10 MiB after a few hundred streams. On a small machine,
other processes may need that memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable


def trimmer() -> Callable[[], object] | None:
    """A function that calls glibc's `malloc_trim`; None without glibc.

    A call takes milliseconds, so it should be made while the process is idle.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return lambda: trim(0)
