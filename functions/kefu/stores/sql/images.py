"""Stores the images of visitors' messages."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.sessions.store.model import SessionId
from kefu.stores.sql.database import SqlConnection, hold, writing
from kefu.stores.sql.passes import SqlPasses

_SAVE = (
    "INSERT INTO images (session, message, number, image)"
    " SELECT id, ?2, ?3, ?4 FROM sessions WHERE id = ?1 AND updated > ?5"
)
_CLEAR = "DELETE FROM images WHERE session = ? AND message = ?"
_READ = (
    "SELECT image FROM images WHERE session = ?1 AND message = ?2 AND number = ?3"
    " AND EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND updated > ?4)"
)


class SqlImages(SqlPasses):
    """Every method raises StoreUnavailable when the database fails."""

    async def save_images(
        self, session_id: SessionId, message_id: int, images: Sequence[bytes]
    ) -> None:
        oldest = self._oldest(self._clock())

        def work(db: SqlConnection) -> None:
            with writing(db):
                hold(db, session_id)
                db.execute(_CLEAR, (session_id, message_id))
                for number, image in enumerate(images):
                    db.execute(_SAVE, (session_id, message_id, number, image, oldest))

        await self._file.run_in_thread(work)

    async def image(self, session_id: SessionId, message_id: int, number: int) -> bytes | None:
        place = (session_id, message_id, number, self._oldest(self._clock()))

        def work(db: SqlConnection) -> bytes | None:
            found = db.execute(_READ, place).fetchone()
            return bytes(found[0]) if found else None

        return await self._file.run_in_thread(work)
