"""Measures the recall of bm25s with its own tokenizer, in the environment of the peers.

Reads a file that benchmarks/knowledge.py wrote. Prints the share of questions whose page is among
the first five results.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: str) -> None:
    import bm25s

    asked = json.loads(Path(path).read_text(encoding="utf-8"))
    urls = [url for url, _ in asked["rows"]]
    index = bm25s.BM25()
    index.index(bm25s.tokenize([text for _, text in asked["rows"]], show_progress=False))
    found = 0
    for question, url in asked["questions"]:
        terms = bm25s.tokenize([question], show_progress=False)
        hits, _ = index.retrieve(terms, k=5, show_progress=False)
        found += url in [urls[hit] for hit in hits[0]]
    print(found / len(asked["questions"]))


if __name__ == "__main__":
    main(sys.argv[1])
