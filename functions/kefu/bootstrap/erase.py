"""Finds and deletes the stored data of one person, for `kefu erase`."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.stores import open_chats
from kefu.errors import StoreUnavailable
from kefu.sessions.people.receipt import Facts, checked_receipt, signed_receipt
from kefu.sessions.store.answers import WrittenAnswer, made_from
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import SessionId
from kefu.sessions.turn.saving import PAUSES
from kefu.settings import Settings


class Erased(NamedTuple):
    """The result for one chat or request."""

    id: str
    problem: str = ""
    """The reason why the data could not be deleted."""


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


async def requests_from(settings: Settings, email: str) -> Sequence[ContactRequest]:
    """The requests for a person that have this address.

    Raises OSError when neither requests nor chats are stored, and StoreUnavailable.
    """
    async with open_chats(settings, SystemClock(), or_requests=True) as store:
        return await store.contacts_from(email)


async def answers_from(settings: Settings, chats: Sequence[SessionId]) -> list[WrittenAnswer]:
    """The answers for all visitors that people made from these chats.

    Raises OSError when neither requests nor chats are stored, and StoreUnavailable.
    """
    async with open_chats(settings, SystemClock(), or_requests=True) as store:
        return made_from(chats, await store.answers())


async def withdraw(settings: Settings, answers: Sequence[WrittenAnswer]) -> None:
    """Delete answers. Raises StoreUnavailable."""
    async with open_chats(settings, SystemClock(), or_requests=True) as store:
        for one in answers:
            await store.withdraw_answer(one.id)


async def erase(
    settings: Settings,
    chats: Sequence[SessionId],
    requests: Sequence[ContactRequest] = (),
    pauses: Sequence[float] = PAUSES,
) -> AsyncIterator[Erased]:
    """Delete chats and requests one by one. `pauses`: seconds before each retry of a deletion."""
    async with open_chats(settings, SystemClock(), or_requests=True) as store:
        # Data that names other data is deleted last, so that an interrupted deletion is found
        # again: the chat of a user names its requests, and the request of an address its chat.
        steps = (store.delete_contacts, store.delete)
        for chat in chats:
            whole = partial(_in_order, steps[::-1] if requests else steps, chat)
            yield Erased(chat, await _erase(whole, pauses))
        for one in requests:
            yield Erased(one.id, await _erase(partial(store.delete_contact, one.id), pauses))


async def receipt_of(settings: Settings, facts: Facts) -> str:
    """The facts about an erasure as a signed file. Raises StoreUnavailable."""
    async with open_chats(settings, SystemClock(), or_requests=True) as store:
        return await signed_receipt(store, secrets.token_hex(32), facts)


async def facts_in(settings: Settings, receipt: str) -> Facts | None:
    """The facts of a receipt; None if the store has not signed exactly these.

    Raises OSError when neither requests nor chats are stored, and StoreUnavailable.
    """
    async with open_chats(settings, SystemClock(), or_requests=True) as store:
        return await checked_receipt(store, secrets.token_hex(32), receipt)


async def _in_order(
    steps: Sequence[Callable[[SessionId], Awaitable[None]]], chat: SessionId
) -> None:
    for step in steps:
        await step(chat)


async def _erase(delete: Callable[[], Awaitable[None]], pauses: Sequence[float]) -> str:
    """Returns "", or the reason of the failure."""
    problem = ""
    for pause in (0.0, *pauses):
        await asyncio.sleep(pause)
        try:
            await delete()
        except StoreUnavailable as error:
            problem = str(error)
        else:
            return ""
    return problem
