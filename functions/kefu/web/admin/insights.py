"""The panel's view of all chats together: sums of days, frequent questions and gaps (H6, G29)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kefu.sessions.model import AskedQuestion, Sessions
from kefu.web.admin.panel import LearntPages
from kefu.web.admin.view import Json, day

if TYPE_CHECKING:
    from kefu.knowledge.gaps import Gap

READ = 2000
"""The newest questions, and the newest gaps, that are read."""

GAPS, FREQUENT, PROBLEMS = 20, 10, 50
"""Rows in each list."""

OLD = 3 * 86400
"""Seconds after which learnt pages count as out of date, as in `kefu gaps`."""


async def insights(store: Sessions, since: str, until: str, now: float) -> Json:
    """The sums of these days, and the questions since the first one."""
    began = datetime.strptime(since, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    days, asked, unanswered = await asyncio.gather(
        store.days(since, until),
        store.questions(began, READ, now),
        store.questions(began, READ, now, gaps=True),
    )
    # In a thread: the stems of 2,000 questions take some 50 ms, and chats must not wait for them.
    grouped, gaps = await asyncio.to_thread(_grouped, asked, unanswered)
    return {
        "days": [day(one) for one in days],
        "read": len(asked),
        "questions": [_group(one) for one in grouped],
        "gaps": [_group(one) for one in gaps],
    }


async def learnt(pages: LearntPages | None, now: float) -> Json | None:
    """The state of the learnt pages; None without any."""
    if pages is None:
        return None
    problems = await pages.problems()
    return {
        "count": pages.facts.pages,
        "made": pages.facts.made,
        "old": now - pages.facts.made > OLD,
        "problems": [{"page": page, "reason": reason} for page, reason in problems[:PROBLEMS]],
    }


def _grouped(
    asked: Sequence[AskedQuestion], unanswered: Sequence[AskedQuestion]
) -> tuple[Sequence[Gap], Sequence[Gap]]:
    # Not at the top: the stemmer is loaded when an operator looks, not when the service starts.
    from kefu.knowledge.gaps import Asked, gaps

    def grouped(questions: Sequence[AskedQuestion]) -> Sequence[Gap]:
        return gaps(
            Asked(
                one.text,
                one.session_id,
                one.at,
                "not answered"
                if one.unanswered
                else ("rated down" if one.rating == "down" else ""),
            )
            for one in questions
        )

    return grouped(asked)[:FREQUENT], grouped(unanswered)[:GAPS]


def _group(group: Gap) -> Json:
    return {
        "question": group.question,
        "times": group.times,
        "session_id": group.last.session,
        "at": group.last.at,
        "reasons": list(group.reasons),
    }
