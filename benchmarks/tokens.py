"""Token counters: their speed, and the errors of estimates against exact counts.

Times are processor times, and each is the minimum of several runs, so that other processes on the
machine do not affect them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable

from benchmarks.processes import ROOT
from kefu.context.tokens import COUNTERS, counter
from kefu.context.tokens.bpe import loaded_encoding

MANY = 200_000
ENCODINGS = ("o200k_base", "cl100k_base")
WRITTEN = ("english", "chinese", "mixed", "emoji", "japanese", "korean", "arabic", "russian")
SPEEDS = ("english", "chinese", "mixed", "code")
MESSAGE = 200
"""Characters of a message, where a single one is estimated."""

Counting = Callable[[str], int]


def samples() -> dict[str, str]:
    """Texts by kind. The estimates were not fitted to any of them."""
    folder = ROOT / "benchmarks/texts"
    found = {kind: (folder / f"{kind}.txt").read_text(encoding="utf-8") for kind in WRITTEN}
    found["code"] = _read("functions/kefu", "relay/relay.py", "relay/sse.py", "relay/key_pool.py")
    found["typescript"] = _read("widget/src", "*.ts")
    found["markdown"] = _read(".", "README.md", "benchmarks/README.md")
    found["json"] = _read("events", "*.json")
    return found


def _read(folder: str, *patterns: str) -> str:
    paths = [path for pattern in patterns for path in sorted((ROOT / folder).glob(pattern))]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def long_texts() -> dict[str, str]:
    """Texts of about `MANY` characters by kind. tiktoken is slow at the last ones."""
    kinds = samples()
    long = {
        kind: kinds[kind] * (MANY // len(kinds[kind]))
        for kind in ("english", "chinese", "mixed", "code", "json", "emoji")
    }
    han = [chr(code) for code in range(0x4E00, 0xA000)]
    return long | {
        "lone surrogates": "\ud800" * MANY,
        "surrogates in text": "ab\udc00你" * (MANY // 4),
        "<|endoftext|>": "<|endoftext|>" * (MANY // 13),
        "random Han": "".join(random.Random(16).choices(han, k=MANY)),
        "one letter": "a" * MANY,
        "spaces": " " * MANY,
        "line ends": "\r\n" * (MANY // 2),
        "a rule": "=-" * (MANY // 2),
        "columns": ("name" + " " * 110 + "price" + " " * 150) * (MANY // 269),
        "lines of 500 spaces": (" " * 500 + "\n") * (MANY // 501),
    }


def tokens(rounds: int) -> str:
    """Three tables as text."""
    speeds = _speeds(rounds)
    accuracy = "\n\n".join(map(_accuracy, ("o200k_base", "cl100k_base")))
    return "\n\n".join([_exact(rounds), speeds, accuracy])


def _exact(rounds: int) -> str:
    lines = [_line("exact, ms per 1,000 tokens", [f"{e}, tiktoken" for e in ENCODINGS])]
    for kind, text in long_texts().items():
        cells = []
        for name in ENCODINGS:
            encode = loaded_encoding(name).tokenizer.encode_ordinary
            whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            count = counter(f"tiktoken:{name}").count
            found = count(text)
            if found != len(encode(whole)):
                raise AssertionError(f"{name} miscounts {kind}")
            ours, theirs = _in_turn((count, encode), text, whole, rounds)
            cells.append(f"{ours / found * 1e6:.3f}, {theirs / found * 1e6:.3f}")
        lines.append(_line(kind, cells))
    return "\n".join(lines)


def _in_turn(
    ways: tuple[Counting, Callable[[str], object]], text: str, whole: str, rounds: int
) -> tuple[float, float]:
    """The minimum CPU seconds of each way. tiktoken gets the text without lone surrogates."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for way, content, spent in zip(ways, (text, whole), seconds, strict=True):
            start = time.process_time()
            way(content)
            spent.append(time.process_time() - start)
    return min(seconds[0]), min(seconds[1])


def _speeds(rounds: int) -> str:
    kinds = samples()
    lines = [_line("estimates, µs per 1,000 characters", SPEEDS)]
    for name, count in COUNTERS.items():
        cells = (f"{_microseconds(count, kinds[kind][:1000], rounds):.1f}" for kind in SPEEDS)
        lines.append(_line(name, cells))
    return "\n".join(lines)


def _microseconds(count: Counting, text: str, rounds: int) -> float:
    text = (text * 1000)[:1000]
    times = 40
    spent = []
    for _ in range(10 * rounds):
        start = time.process_time()
        for _ in range(times):
            count(text)
        spent.append(time.process_time() - start)
    return min(spent) / times * 1e6


def _accuracy(encoding: str) -> str:
    exact = counter(f"tiktoken:{encoding}").count
    lines = [_line(f"off {encoding}: all text; one message", COUNTERS)]
    for kind, text in samples().items():
        cells = (
            f"{off(c, exact, text):+.0%}; {scatter(c, exact, text):.0%}" for c in COUNTERS.values()
        )
        lines.append(_line(kind, cells))
    return "\n".join(lines)


def off(count: Counting, exact: Counting, text: str) -> float:
    """The relative error of the estimate for a whole text; positive if it is too high."""
    return count(text) / exact(text) - 1


def scatter(count: Counting, exact: Counting, text: str) -> float:
    """The mean absolute relative error of the estimate for a single message."""
    messages = [text[i : i + MESSAGE] for i in range(0, len(text) - MESSAGE + 1, MESSAGE)]
    return sum(abs(count(m) / exact(m) - 1) for m in messages) / len(messages)


def _line(title: str, cells: Iterable[str]) -> str:
    return title.ljust(36) + "".join(cell.rjust(24) for cell in cells)
