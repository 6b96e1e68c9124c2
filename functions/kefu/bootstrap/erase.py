"""Finds and deletes the stored chats of one user, for `kefu erase`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.stores import open_chats
from kefu.errors import StoreUnavailable
from kefu.sessions.background import PAUSES
from kefu.sessions.model import SessionId
from kefu.sessions.ports import Sessions
from kefu.settings import Settings


class Erased(NamedTuple):
    """The result for one chat."""

    id: SessionId
    problem: str = ""
    """Why the chat could not be deleted."""


async def chats_of(
    settings: Settings, user: str, progress: Callable[[int, int], None]
) -> Sequence[SessionId]:
    """The chats of a user. `progress` receives the numbers of items read and of chats found.

    Raises OSError when no chats are stored, and StoreUnavailable.
    """
    found: list[SessionId] = []
    read, cursor = 0, None
    async with open_chats(settings, SystemClock()) as store:
        while True:
            part = await store.of_user(user, cursor)
            found += part.ids
            read, cursor = read + part.read, part.cursor
            progress(read, len(found))
            if cursor is None:
                return found


async def erase(
    settings: Settings, chats: Sequence[SessionId], pauses: Sequence[float] = PAUSES
) -> AsyncIterator[Erased]:
    """Delete chats, one after the other. `pauses`: seconds before each retry of one."""
    async with open_chats(settings, SystemClock()) as store:
        for chat in chats:
            yield Erased(chat, await _erase(store, chat, pauses))


async def _erase(store: Sessions, chat: SessionId, pauses: Sequence[float]) -> str:
    """Delete a chat and its requests for a person. Returns "", or why it could not be deleted."""
    problem = ""
    for pause in (0.0, *pauses):
        await asyncio.sleep(pause)
        try:
            # Delete the requests first: only the chat says whose they are.
            await store.delete_contacts(chat)
            await store.delete(chat)
        except StoreUnavailable as error:
            problem = str(error)
        else:
            return ""
    return problem
