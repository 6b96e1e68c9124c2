"""The panel's view of all chats together: sums of days, frequent questions and gaps (H6, G29)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from kefu.sessions.store.overview import AskedQuestion, ToolDay
from kefu.sessions.store.ports import Sessions
from kefu.web.admin.panel import PanelPages
from kefu.web.admin.view import Json

MAX_GAPS, MAX_QUESTIONS, MAX_PROBLEMS = 20, 10, 50
"""Rows in each list."""

_CALLS = ToolDay._fields[2:]

OLD_AFTER_SECONDS = 3 * 86400
"""Seconds after which learnt pages count as out of date, as in `kefu gaps`."""


async def insights(store: Sessions, since: str, until: str, now: float) -> Json:
    """The sums of these days, and the questions that were asked on them."""
    period = _start(since), _start(until) + 86400
    days, tools, asked, unanswered = await asyncio.gather(
        store.days(since, until),
        store.tool_days(since, until),
        store.questions(*period, MAX_QUESTIONS, now),
        store.questions(*period, MAX_GAPS, now, gaps=True),
    )
    return {
        "days": [one._asdict() for one in days],
        "tools": _by_tool(tools),
        "read": asked.read,
        "is_whole": asked.is_whole,
        "questions": [_question(one) for one in asked.questions],
        "gaps": [_question(one) for one in unanswered.questions],
        "gaps_whole": unanswered.is_whole,
    }


def _by_tool(days: Sequence[ToolDay]) -> list[Json]:
    """The sums of each tool, the most used first."""
    sums: dict[str, Counter[str]] = {}
    for day in days:
        sums.setdefault(day.tool, Counter()).update(dict(zip(_CALLS, day[2:], strict=True)))
    tools = sorted(sums, key=lambda tool: (-sums[tool]["uses"] - sums[tool]["asked"], tool))
    return [{"tool": tool, **{name: sums[tool][name] for name in _CALLS}} for tool in tools]


def _start(date: str) -> float:
    return datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()


async def learnt(pages: PanelPages | None, now: float) -> Json | None:
    """The state of the learnt pages; None without any."""
    if pages is None:
        return None
    problems = await pages.problems()
    return {
        "count": pages.facts.pages,
        "made": pages.facts.made,
        "old": now - pages.facts.made > OLD_AFTER_SECONDS,
        "problems": [{"page": page, "reason": reason} for page, reason in problems[:MAX_PROBLEMS]],
    }


def _question(asked: AskedQuestion) -> Json:
    reasons = {"not answered": asked.unanswered, "rated down": asked.downs}
    return {
        "question": asked.text,
        "times": asked.times,
        "session_id": asked.session_id,
        "at": asked.at,
        "reasons": [reason for reason, times in reasons.items() if times],
        "comments": list(asked.comments),
    }
