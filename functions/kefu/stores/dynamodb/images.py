"""Stores the images of visitors' messages in DynamoDB, in parts.

The first images of a chat's messages are in one partition, the second ones in another, because a
partition takes a megabyte in a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kefu.images import MAX_IMAGES
from kefu.sessions.store.model import SessionId
from kefu.stores.dynamodb import items
from kefu.stores.dynamodb.calls import DynamoCalls
from kefu.stores.dynamodb.table import Row


class DynamoImages(DynamoCalls):
    """Every method raises StoreUnavailable if DynamoDB fails, throttles or is too slow."""

    async def save_images(
        self, session_id: SessionId, message_id: int, images: Sequence[bytes]
    ) -> None:
        now = self._clock()
        every = [*images, *(b"" for _ in range(MAX_IMAGES - len(images)))]
        saving = (
            self._save(items.image_row(session_id, message_id, number), image, now)
            for number, image in enumerate(every)
        )
        written = [row for saved in await asyncio.gather(*saving) for row in saved]
        # A concurrent deletion of the session may have missed these items, so check afterwards.
        if not await self._session(session_id, now):
            await self._table.run(lambda: items.delete_rows(self._table, written))

    async def _save(self, row: Row, image: bytes, now: float) -> list[Row]:
        """Write the parts of an image in place of those that are there. Returns their keys."""
        bounds = (f"{row.sk}#", f"{row.sk}#~")

        def left(written: list[Row]) -> list[Row]:
            found = map(items.row_of, self._table.query(row.pk, bounds, keys_only=True))
            return [one for one in found if one not in written]

        written = await self._put_parts(row, image, now, self._turns_expire(now)) if image else []
        await self._table.run(lambda: items.delete_rows(self._table, left(written)))
        return written

    async def image(self, session_id: SessionId, message_id: int, number: int) -> bytes | None:
        row = items.image_row(session_id, message_id, number)

        def work() -> bytes | None:
            parts = list(self._table.query(row.pk, (f"{row.sk}#", f"{row.sk}#~")))
            if not parts or len(parts) < items.whole_in(parts[0], "parts"):
                return None
            count = items.whole_in(parts[0], "parts")
            return b"".join(part["part"]["B"] for part in parts[:count])

        session, image = await asyncio.gather(
            self._session(session_id, self._clock()), self._table.run(work)
        )
        return image if session else None
