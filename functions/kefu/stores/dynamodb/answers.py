"""Stores the answers of people in a DynamoDB table.

    pk               sk
    answers          ID      an answer
    answers_version  ~       the number of changes

A change is counted after it was made. A process that is killed between the two has told nobody of a
success, and the repeated change is counted, also if it finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kefu.sessions.store.answers import WrittenAnswer, newest_answers
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.contacts import DynamoContacts
from kefu.stores.dynamodb.table import Row, change, value_of

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item

ANSWERS: Final = "answers"
VERSION: Final = Row("answers_version", "~")
_TIMES: Final = ("created_at", "updated_at")
_TEXTS: Final = tuple(one for one in WrittenAnswer._fields if one not in ("id", *_TIMES))
_ALL: Final = (" ", "~")


class DynamoAnswers(DynamoContacts):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def save_answer(self, answer: WrittenAnswer) -> None:
        values = {name: value_of(getattr(answer, name)) for name in (*_TEXTS, *_TIMES)}

        def work() -> None:
            self._table.put(Row(ANSWERS, answer.id), values)
            self._table.update(VERSION, change("ADD #version :one", one=1))

        await self._table.run(work)

    async def answers(self) -> Sequence[WrittenAnswer]:
        def work() -> list[WrittenAnswer]:
            return [_answer(item) for item in self._table.query(ANSWERS, _ALL)]

        return newest_answers(await self._table.run(work))

    async def answers_version(self) -> int:
        return await self._table.run(
            lambda: items.whole_in(self._table.read(VERSION, consistent=False), "version")
        )

    async def withdraw_answer(self, id: str) -> bool:
        def work() -> bool:
            row = Row(ANSWERS, id)
            is_stored = bool(self._table.read(row))
            items.delete_rows(self._table, [row])
            self._table.update(VERSION, change("ADD #version :one", one=1))
            return is_stored

        return await self._table.run(work)


def _answer(item: Item) -> WrittenAnswer:
    found: dict[str, Any] = {name: items.text_in(item, name) for name in _TEXTS}
    found |= {name: items.time_in(item, name) for name in _TIMES}
    return WrittenAnswer(id=items.text_in(item, "sk"), **found)
