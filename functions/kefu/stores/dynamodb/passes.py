"""Stores the sign-ins of operators in a DynamoDB table.

pk      sk
passes  ID    a sign-in, deleted by TTL after it has expired
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kefu.sessions.store.passes import SignIn
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.answers import DynamoAnswers
from kefu.stores.dynamodb.table import Row, change, number_in, value_of

if TYPE_CHECKING:
    from kefu.stores.dynamodb.table import Item

PASSES: Final = "passes"
_TEXTS: Final = ("operator", "site", "may")
_ALL: Final = (" ", "~")


class DynamoPasses(DynamoAnswers):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def add_sign_in(self, new: SignIn) -> None:
        values = {
            **{name: value_of(getattr(new, name)) for name in _TEXTS},
            "opened": value_of(new.opened_at),
            "expires": value_of(new.expires_at),
        }
        await self._table.run(lambda: self._table.put(Row(PASSES, new.id), values, replace=False))

    async def sign_ins(self, now: float) -> Sequence[SignIn]:
        def work() -> list[SignIn]:
            return [_sign_in(item) for item in self._table.query(PASSES, _ALL)]

        found = await self._table.run(work)
        still = [one for one in found if one.ended_at is None and one.expires_at > now]
        return sorted(still, key=lambda one: (-one.opened_at, one.id))

    async def has_ended(self, id: str) -> bool:
        return "ended" in await self._read(Row(PASSES, id))

    async def end_sign_in(self, id: str, now: float) -> bool:
        end = change("SET #ended = if_not_exists(#ended, :now)", "attribute_exists(pk)", now=now)
        return (await self._update(Row(PASSES, id), end))[0]


def _sign_in(item: Item) -> SignIn:
    return SignIn(
        items.text_in(item, "sk"),
        items.time_in(item, "opened"),
        items.whole_in(item, "expires"),
        ended_at=number_in(item, "ended"),
        **{name: items.text_in(item, name) for name in _TEXTS},
    )
