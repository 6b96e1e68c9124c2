"""`/admin/api/contacts`: an operator lists, marks and deletes the requests for a person."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Depends, Request, Response

from kefu.errors import InvalidRequest, NotFound
from kefu.sessions.store.contacts import Before, ContactRequest, ContactStore
from kefu.web.admin.deletions import deleted
from kefu.web.admin.panel import Panel, panel_router
from kefu.web.admin.view import Json
from kefu.web.body import JsonBody
from kefu.web.options import BodyLimits
from kefu.web.schemas import DoneBody

MAX_ROWS = 50
"""Requests of one page that have a chat, and as many that have none."""

_END = "0.0~"
"""The place in a cursor after the oldest request."""

_ALL = 1_000_000
"""More requests than any store has."""


def contacts_routes(panel: Panel) -> APIRouter:
    router = panel_router(panel, "/contacts")
    limits = BodyLimits(1024, 2, panel.runtime.options.body.seconds)
    done_body = Depends(JsonBody(DoneBody, limits).read)

    @router.get("")
    async def contacts(request: Request) -> Json:
        rows, cursor = await _page(panel.requests(), request.query_params.get("cursor", ""))
        contact = panel.contact
        panel.audit(request, "read requests")
        return {
            "requests": [one._asdict() for one in rows],
            "cursor": cursor,
            "delivers": contact is not None and contact.delivers,
            "signing_key": await contact.signing_key() if contact else "",
        }

    @router.post("/{id}/done")
    async def done(request: Request, wanted: DoneBody = done_body) -> Json:
        done_at = panel.clock.now() if wanted.done else None
        if not await panel.requests().mark_contact(request.path_params["id"], done_at):
            raise NotFound("There is no such request.")
        panel.audit(request, "request done" if wanted.done else "request open")
        return {"done_at": done_at}

    @router.post("/{id}/send", status_code=204)
    async def send(request: Request) -> None:
        """Deliver a request again, such as after a failure of the webhook."""
        id, now = request.path_params["id"], panel.clock.now()
        if panel.deliver is None or not await panel.requests().redeliver_contact(id, now):
            raise NotFound("There is no such request, or nowhere to send it to.")
        panel.audit(request, "send request")
        await panel.deliver()

    @router.delete("/{id}")
    async def delete(request: Request) -> Response:
        id = request.path_params["id"]
        await panel.requests().delete_contact(id)
        panel.audit(request, "delete request")

        async def left() -> int:
            stored = await panel.requests().contacts(_ALL)
            return sum(one.id == id for one in stored)

        return await deleted(panel, request, {"requests": [id]}, left)

    return router


async def _page(store: ContactStore, cursor: str) -> tuple[Sequence[ContactRequest], str | None]:
    """Some requests, the newest first, and the cursor of the next page.

    Each page has requests with a chat and without: forms that a program sends without a chat push
    nobody else off the first page. The cursor has the places of both kinds.
    """
    places = cursor.split("|") if cursor else ["", ""]
    if len(places) != 2:
        raise InvalidRequest("cursor: is not valid.", param="cursor")
    with_chat, without = await store.contacts_by_kind(MAX_ROWS, *map(_place, places))
    ends = [
        _END if len(found) < MAX_ROWS else f"{found[-1].created_at!r}~{found[-1].id}"
        for found in (with_chat, without)
    ]
    rows = [*with_chat, *without]
    more = None if ends == [_END, _END] else "|".join(ends)
    return sorted(rows, key=lambda one: (one.created_at, one.id), reverse=True), more


def _place(cursor: str) -> Before | None:
    """Parse the place after which a part of a page begins. Raises InvalidRequest."""
    if not cursor:
        return None
    created_at, _, id = cursor.partition("~")
    try:
        return Before(float(created_at), id)
    except ValueError:
        raise InvalidRequest("cursor: is not valid.", param="cursor") from None
