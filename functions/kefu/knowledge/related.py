"""English words of a similar meaning, because visitors ask in other words than the pages use.

docs/decisions/0040-search-by-words-in-sqlite.md says where the table comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

RELATED_WEIGHT = 0.2
"""The weight of a related word in the ranking. The question's own words have the weight 1."""

_FILE = Path(__file__).with_name("related_words.txt")


@cache
def _table() -> Mapping[str, str]:
    """The related stems of each stem, separated by spaces."""
    lines = _FILE.read_text(encoding="ascii").splitlines()
    return {stem: near for stem, _, near in (line.partition(" ") for line in lines)}


def related(terms: Sequence[str]) -> list[str]:
    """The terms of a similar meaning that are not among `terms` themselves."""
    table, own = _table(), set(terms)
    near = dict.fromkeys(one for term in terms for one in table.get(term, "").split())
    return [one for one in near if one not in own]
