"""The questions that visitors ask most, by the topics that turns get in the index of words."""

from __future__ import annotations

from collections.abc import Iterable

from kefu.sessions.store.overview import AskedQuestion, AskedQuestions
from kefu.stores.sql.database import SqlConnection
from kefu.stores.turns import MAX_COMMENTS

_PERIOD = (
    "at >= ?1 AND at < ?2 AND topic <> 0"
    " AND session NOT IN (SELECT id FROM sessions WHERE updated <= ?3)"
)
_IN_PERIOD_AND_GAPS = f"{_PERIOD} AND (unanswered OR down)"
_QUESTIONS = (
    "SELECT question, session, at, times, missed, found.downs, found.topic, read FROM ("
    "SELECT max(id) AS newest, count(*) AS times, count(*) FILTER (WHERE unanswered) AS missed,"
    " count(*) FILTER (WHERE down) AS downs,"
    " topic, sum(count(*)) OVER () AS read FROM asked WHERE {where}"
    " GROUP BY topic ORDER BY times DESC, newest DESC LIMIT ?4"
    ") AS found JOIN asked ON asked.id = newest"
    " JOIN turns USING (session, question_id) ORDER BY times DESC, newest DESC"
)
_COMMENTS = (
    "SELECT topic, comment FROM asked JOIN turns USING (session, question_id)"
    " WHERE {where} AND topic IN ({topics}) AND comment <> '' ORDER BY asked.id DESC"
)


def asked_most(
    db: SqlConnection,
    period: tuple[float, float],
    oldest: float,
    limit: int,
    *,
    gaps: bool,
    is_whole: bool,
) -> AskedQuestions:
    """See `SessionIndex.questions`. `oldest`: sessions last used before then have expired."""
    sql = _QUESTIONS.format(where=_IN_PERIOD_AND_GAPS if gaps else _PERIOD)
    rows = db.execute(sql, (*period, oldest, limit)).fetchall()
    topics = [topic for *_, downs, topic, _ in rows if downs]
    comments = _comments(db, period, oldest, topics) if topics else {}
    questions = [
        AskedQuestion(*row[:6])._replace(comments=comments.get(row[6], ())) for row in rows
    ]
    return AskedQuestions(questions, rows[0][-1] if rows else 0, is_whole)


def _comments(
    db: SqlConnection, period: tuple[float, float], oldest: float, topics: Iterable[int]
) -> dict[int, list[str]]:
    """The newest comments on the answers to the questions of these topics."""
    sql = _COMMENTS.format(where=_IN_PERIOD_AND_GAPS, topics=", ".join(map(str, topics)))
    found = dict[int, list[str]]()
    for topic, comment in db.execute(sql, (*period, oldest)):
        known = found.setdefault(topic, [])
        if len(known) < MAX_COMMENTS:
            known.append(comment)
    return found
