"""The index of the words of all turns, for the search of the operator's panel.

A turn that is added also gets its topic, the number of its question's terms, for the insights.

The index is an FTS5 table without content. The index holds a number for each word and not the word
itself: FTS5 keeps entries of deleted rows until it merges them, and b-tree pages may keep copies
for longer. The reason is in docs/decisions/0024-texts-on-overflow-pages.md.

Turns are added in the worker thread while the file is hardly used, and before a search. Saving a
chat does not wait for the index.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from zlib import crc32

from kefu.messages import is_click
from kefu.stores.sql.database import SqlConnection, writing

AT_ONCE = 20
"""Turns that one transaction adds or removes. Few turns, because indexing holds the write lock."""

_NEW = (
    "SELECT asked.id, operator, client, question, answer FROM asked"
    " JOIN turns USING (session, question_id) WHERE NOT indexed ORDER BY asked.id LIMIT ?"
)
_MARK = "UPDATE asked SET indexed = TRUE, topic = ? WHERE id = ? AND NOT indexed"
_ADD = "INSERT INTO word_index (rowid, words) VALUES (?, ?)"
_OF_SESSION = (
    "SELECT asked.id, indexed, question, answer FROM asked JOIN turns USING (session, question_id)"
    " WHERE session = ?1 AND question_id BETWEEN ?2 AND ?3 ORDER BY question_id LIMIT ?4"
)
_REMOVE = "INSERT INTO word_index (word_index, rowid, words) VALUES ('delete', ?, ?)"
_FORGET = "DELETE FROM asked WHERE id = ?"

FAR_ID = 1 << 62
"""A message id greater than every real id."""

NO_TOPIC = 0
"""The topic of a line of an operator, of a click, and of a turn that is not in the index yet."""

FOUND = (
    "id IN (SELECT session FROM asked WHERE asked.id IN"
    " (SELECT rowid FROM word_index WHERE word_index MATCH ?))"
)
"""A condition on `sessions`, with the result of `match` as its parameter."""


def add_some(db: SqlConnection) -> bool:
    """Add some turns that have ended. Returns True if there may be more."""
    rows = db.execute(_NEW, (AT_ONCE,)).fetchall()
    # Outside the transaction: finding the words takes longer than adding them.
    turns = [
        (id, NO_TOPIC if operator or is_click(client) else _topic(texts[0]), _numbers(texts))
        for id, operator, client, *texts in rows
    ]
    if turns:
        with writing(db):
            for id, topic, numbers in turns:
                if db.execute(_MARK, (topic, id)).rowcount == 1:
                    db.execute(_ADD, (id, numbers))
    return len(turns) == AT_ONCE


def waiting(db: SqlConnection) -> int:
    """The number of turns to be added."""
    [count] = db.execute("SELECT count(*) FROM asked WHERE NOT indexed").fetchone()
    return int(count)


def remove(db: SqlConnection, session: str, question_id: int | None = None) -> bool:
    """Remove a turn, while it exists, if it is in the index or waits for it.

    Without `question_id`: some turns of the session. Must run in a transaction. Returns True if
    there may be more.
    """
    place = (0, FAR_ID) if question_id is None else (question_id, question_id)
    rows = db.execute(_OF_SESSION, (session, *place, AT_ONCE)).fetchall()
    for id, indexed, *texts in rows:
        if indexed:
            db.execute(_REMOVE, (id, _numbers(texts)))
        db.execute(_FORGET, (id,))
    return len(rows) == AT_ONCE


def match(query: str) -> str:
    """The FTS5 expression of a search; empty for a query without words."""
    from kefu.knowledge.message_words import searched_words

    groups = (" OR ".join(sorted({_number(term) for term in one})) for one in searched_words(query))
    return " AND ".join(f"({group})" for group in groups)


def _topic(question: str) -> int:
    """The number of a question's terms. Two questions with the same terms have the same number."""
    # Imported here, as in `_numbers`.
    from kefu.knowledge.gaps import same_terms

    terms = "\n".join(sorted(same_terms(question))).encode("utf-8", "replace")
    return int.from_bytes(blake2b(terms, digest_size=7).digest()) + 1


def _numbers(texts: Iterable[str]) -> str:
    # Imported here: the stemmer is loaded when a chat is indexed, not when the service starts.
    from kefu.knowledge.message_words import message_words

    return " ".join(sorted({_number(term) for term in message_words(texts)}))


def _number(term: str) -> str:
    """The number of a term, as a bareword of FTS5."""
    return f"w{crc32(term.encode('utf-8', 'replace')):08x}"
