"""Every field of a stored turn is written and read by each engine (M4).

The fields are filled by their types, so this holds for a new field, too.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, Literal, NewType, get_args, get_origin, get_type_hints

from kefu.stores.dynamodb import items
from kefu.stores.sql.rows import TURN, turn_added, turn_of, turn_saved
from kefu.stores.sqlite.migrations import migrate
from kefu.stores.turns import StoredTurn

SAMPLES: dict[Any, Any] = {bool: True, int: 1, float: 1234.5}
BY_NUMBER = f"{TURN} AND question_id = ?"


def sample(kind: Any, name: str) -> Any:
    """A value of this type that is not the default of a field; a text is the field's name."""
    if isinstance(kind, NewType):
        return sample(kind.__supertype__, name)
    if get_origin(kind) is Literal:
        return get_args(kind)[-1]
    if kind is str:
        return name
    return SAMPLES[kind] if kind in SAMPLES else sample(get_args(kind)[0], name)


def filled() -> StoredTurn:
    hints = get_type_hints(StoredTurn)
    turn = StoredTurn(**{name: sample(hints[name], name) for name in StoredTurn._fields})
    defaults = StoredTurn._field_defaults
    assert not [name for name, value in defaults.items() if getattr(turn, name) == value]
    return turn


def test_dynamodb_writes_and_reads_every_field_of_a_turn() -> None:
    turn = filled()
    row = items.turn_row(turn.session_id, turn.question_id)
    assert items.turn_in({**row.key(), **items.turn_values(turn)}) == turn  # type: ignore[dict-item]


def test_dynamodb_changes_every_field_of_a_turn() -> None:
    """A value sets the attribute, and an empty one removes it."""
    fields = dict.fromkeys(StoredTurn._fields[2:], "")
    turn = filled()._asdict()
    removed = items.turn_change(fields, "")
    changed = items.turn_change({name: turn[name] for name in fields}, "")
    assert set(removed.names) == set(changed.names)
    assert len(changed.names) == len(changed.values) == len(fields)
    assert (removed.expression[:7], changed.expression[:4]) == ("REMOVE ", "SET ")


def test_sqlite_writes_and_reads_every_field_of_a_turn() -> None:
    """Only `unanswered` has another table, and `follows` is derived."""
    turn = filled()._replace(unanswered=False, follows=False)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        migrate(db)
        db.execute(*turn_added(turn._replace(question="", answer="", rating=None)))
        db.execute(*turn_saved(turn))
        row = db.execute(BY_NUMBER, (turn.session_id, turn.question_id)).fetchone()
        assert turn_of(turn.session_id, row) == turn
