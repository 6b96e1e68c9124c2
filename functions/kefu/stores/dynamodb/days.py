"""The sums of each day, in a DynamoDB table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kefu.sessions.store.overview import Day
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.table import Row, Table, change
from kefu.stores.turns import DayChange

if TYPE_CHECKING:
    pass

NAMES: Final = {"prompt_tokens": "prompt", "completion_tokens": "completion"}
"""Attributes whose names differ from the fields of `Day`."""


def count(table: Table, by: DayChange) -> None:
    """Add to the sums of a day."""
    names = {name: NAMES.get(name, name) for name in by.by}
    if names:
        sums = ", ".join(f"#{attribute} :{attribute}" for attribute in names.values())
        values = {attribute: by.by[name] for name, attribute in names.items()}
        add = change(f"ADD {sums}", None, **values)
        table.update(Row(items.DAYS, by.date), add)


def days_between(table: Table, since: str, until: str) -> Sequence[Day]:
    if since > until:
        return []
    return [
        Day(
            items.text_in(item, "sk"),
            *(items.whole_in(item, NAMES.get(name, name)) for name in Day._fields[1:]),
        )
        for item in table.query(items.DAYS, (since, until))
    ]
