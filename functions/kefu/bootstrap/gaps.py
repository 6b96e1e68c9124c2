"""Collects the gaps of the learnt pages from the store of chats, for `kefu gaps`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.learnt_file import open_learnt_file
from kefu.bootstrap.stores import open_chats
from kefu.knowledge.gaps import Gaps, VisitorQuestion, gaps
from kefu.sessions.store.model import CallRecord, Session, StoredMessage
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.settings import Settings

MAX_CHATS = 2000
"""The newest chats are read, up to this number."""

MAX_MESSAGES = 1000
"""The newest messages of a chat are read, up to this number."""

_SESSIONS_PER_PAGE = 200


async def collected(settings: Settings) -> Gaps:
    """Raises OSError and ValueError for a file that cannot be read, and StoreUnavailable."""
    clock = SystemClock()
    asked, cited, chats = list[VisitorQuestion](), set[str](), 0
    with closing(open_learnt_file(settings.knowledge)) as pages:
        async with open_chats(settings, clock) as store:
            async for session in newest_chats(store, clock.now()):
                chats += 1
                messages = await store.messages(session.id, limit=MAX_MESSAGES, now=clock.now())
                calls = await store.calls(session.id)
                asked += _asked(session, messages, calls)
                cited |= cited_pages(calls)
        return Gaps(
            gaps(asked, pages.languages),
            chats,
            [url for url in pages.sources() if url not in cited],
            pages.problems(),
            clock.now() - pages.facts.made,
        )


async def newest_chats(store: Sessions, now: float) -> AsyncIterator[Session]:
    """The chats, newest first, at most `MAX_CHATS`."""
    cursor, left = None, MAX_CHATS
    while left:
        page = await store.newest(SessionFilter(), cursor, min(_SESSIONS_PER_PAGE, left), now)
        for row in page.rows[:left]:
            left -= 1
            yield row.session
        cursor = page.cursor
        if cursor is None:
            return


def _asked(
    session: Session, messages: Sequence[StoredMessage], calls: Sequence[CallRecord]
) -> list[VisitorQuestion]:
    """The questions of a chat that have no answer, or an answer that was rated down."""
    unanswered = {one.message_id for one in calls if _knowledge(one).get("answered") is False}
    down = {one.reply_to: one.comment for one in messages if one.rating == "down"}
    return [
        VisitorQuestion(
            one.content,
            session.id,
            one.created_at,
            "not answered" if one.id in unanswered else "rated down",
            down.get(one.id, ""),
        )
        for one in messages
        if one.role == "user" and one.id in unanswered | down.keys()
    ]


def cited_pages(calls: Iterable[CallRecord]) -> set[str]:
    """The pages that the answers cite, without fragments."""
    return {
        passage["url"].partition("#")[0]
        for call in calls
        for passage in _knowledge(call).get("passages", ())
        if passage["n"] in _knowledge(call)["used"]
    }


def _knowledge(call: CallRecord) -> Mapping[str, Any]:
    meta = json.loads(call.meta)
    return cast(Mapping[str, Any], meta.get("knowledge") or {})
