"""How much more work a longer input makes."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIMES = 8
"""How much longer the long input is: linear work takes 8 times as long, quadratic work 64 times."""
AT_MOST = 24


def assert_linear(prepare: Callable[[int], T], work: Callable[[T], object], size: int) -> None:
    """T31: `work` on an input of `size` takes about 8 times as long as on an eighth of it.

    CPU time of this thread, the best of several tries in turns, without the collector: a busy
    machine and a large heap only ever add to it. The bound lies as far from linear as from
    quadratic, and the tries end as soon as it holds.
    """
    inputs = [prepare(size // TIMES), prepare(size)]
    best = [float("inf"), float("inf")]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(10):
            for at, given in enumerate(inputs):
                started = time.thread_time()
                work(given)
                best[at] = min(best[at], time.thread_time() - started)
            if best[1] <= AT_MOST * best[0]:
                return
    finally:
        if collecting:
            gc.enable()
    raise AssertionError(f"{TIMES} times the input took {best[1] / best[0]:.0f} times as long")
