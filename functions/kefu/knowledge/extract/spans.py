"""Repeats a cell of a table that reaches into the rows below it in each of these.

Without it these rows would lack its text, and their other cells would stand in wrong columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kefu.knowledge.extract.blocks import CELLS, NO_CELL

LONGEST_REPEATED = 80
"""Characters. A cell with a longer text stays in its first row alone."""

MOST_REPEATED = 10_000
"""Repetitions on a page."""

MOST_SPANNED = 100
"""Rows or columns of a cell, and columns of a table in which joined cells are looked for."""


def repeat_cells(tree: LexborHTMLParser) -> None:
    rows = [cell.parent for cell in tree.css("td[rowspan], th[rowspan]")]
    groups = {row.parent.mem_id: row.parent for row in rows if row and row.parent}
    places = chain.from_iterable(map(_places, groups.values()))
    for cell, beside, is_behind in islice(places, MOST_REPEATED):
        (beside.insert_after if is_behind else beside.insert_before)(cell)


def _places(group: LexborNode) -> Iterator[tuple[LexborNode, LexborNode, bool]]:
    """Each cell to repeat, the cell beside its place, and whether the place is behind that."""
    above = dict[int, tuple[LexborNode | None, int]]()
    """By column: the cell that reaches into it, and the number of rows that are left."""
    for row in group.iter():
        cells = [one for one in row.iter() if one.tag in CELLS]
        below = {at: (cell, rows - 1) for at, (cell, rows) in above.items() if rows > 1}
        has_facts = bool(cells) and _is_row(row)
        repeated = {at: cell for at, (cell, _) in above.items() if cell and has_facts}
        column = 0
        for own in cells:
            while column in above:
                if column in repeated:
                    yield repeated[column], own, False
                column += 1
            if column > MOST_SPANNED:
                break
            width, rows = _number(own, "colspan"), _number(own, "rowspan")
            if rows > 1:
                columns = range(column + 1, column + width)
                below |= dict.fromkeys(columns, (None, rows - 1))
                below[column] = (own if _is_repeated(own) else None, rows - 1)
            column += width
        for at in sorted(repeated, reverse=True):
            if at >= column:
                yield repeated[at], cells[-1], True
        above = below


def _is_row(row: LexborNode) -> bool:
    return row.css_first(NO_CELL) is None and row.text(strip=True) != ""


def _is_repeated(cell: LexborNode) -> bool:
    return len(cell.text(strip=True)) <= LONGEST_REPEATED and cell.css_first(NO_CELL) is None


def _number(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return min(int(value[:4]) or 1, MOST_SPANNED) if value.isdecimal() else 1
