"""Reads the images of requests, and serves those of stored chats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.responses import Response

from kefu.errors import InvalidRequest, NotFound
from kefu.images import images_in, place_of, type_of
from kefu.messages import Image
from kefu.web.options import IMAGES_OFF

if TYPE_CHECKING:
    from kefu.sessions.store.model import SessionId
    from kefu.sessions.store.ports import Sessions

_HEADERS = {
    "Cache-Control": "private, no-store",  # a deleted chat must not stay in a browser
    "Content-Disposition": "inline",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


def images_from(urls: Sequence[str], *, allowed: bool, param: str = "images") -> tuple[Image, ...]:
    """The images of a message's data URLs. Raises InvalidRequest."""
    if not allowed:
        raise InvalidRequest(IMAGES_OFF, param=param)
    return images_in(urls, param)


async def image_response(store: Sessions, session_id: SessionId, id: str) -> Response:
    """An image of a stored chat. Raises NotFound, and StoreUnavailable."""
    place = place_of(id)
    data = await store.image(session_id, *place) if place else None
    if data is None:
        raise NotFound("There is no such picture in this chat any more.")
    return Response(data, media_type=type_of(data), headers=_HEADERS)
