"""Counts the trimmed prompts that an API would refuse: `python -m benchmarks.validity [HISTORIES]`.

Takes 50,000 random conversations of each format by default, with broken tool calls, pins, summaries
and every strategy, and trims each one twice. The rules of the APIs are in
tests/unit/context/wire/formats.py and other_formats.py.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.unit.context.wire.fuzz import ALL_FORMATS, trimmed_wrongly


def main() -> int:
    histories = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    invalid = 0
    for name in ALL_FORMATS:
        start = time.monotonic()
        wrong = Counter(trimmed_wrongly(name, seed) for seed in range(histories))
        del wrong[""]
        invalid += wrong.total()
        took = time.monotonic() - start
        print(f"{name:18} {wrong.total()} of {2 * histories} prompts invalid, {took:.0f} s")
        for reason, times in wrong.most_common():
            print(f"  {times}: {reason}")
    return 1 if invalid else 0


if __name__ == "__main__":
    sys.exit(main())
