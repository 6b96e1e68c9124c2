"""The SQLite schema as numbered, forward-only migrations.

`PRAGMA user_version` is the number of applied migrations. Never edit a released migration. Add a
new migration at the end instead.

The column `fill` forces the columns after it onto overflow pages. The reason is in
docs/decisions/0024-texts-on-overflow-pages.md.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from kefu.errors import StoreUnavailable
from kefu.stores.turns import bucket_of

MIGRATIONS: tuple[str, ...] = (
    # 1: cooldowns and limits. A row may be deleted after `expires`, as in DynamoDB.
    """
    CREATE TABLE cooldowns (
      key TEXT PRIMARY KEY, until REAL NOT NULL, reason TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE rates (bucket TEXT PRIMARY KEY, arrival REAL NOT NULL) WITHOUT ROWID;
    CREATE INDEX rates_arrival ON rates (arrival);
    CREATE TABLE budgets (
      budget TEXT PRIMARY KEY, used INTEGER NOT NULL, expires REAL NOT NULL
    ) WITHOUT ROWID;
    """,
    # 2: chats. A turn is one row: the visitor's message and its answer, if there is one.
    """
    CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE sessions (
      id TEXT PRIMARY KEY, title TEXT NOT NULL, config TEXT NOT NULL, created REAL NOT NULL,
      updated REAL NOT NULL, turns INTEGER NOT NULL, tokens INTEGER NOT NULL,
      errors INTEGER NOT NULL, status TEXT NOT NULL, lease REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX sessions_updated ON sessions (updated, id);
    CREATE TABLE turns (
      session TEXT NOT NULL, question_id INTEGER NOT NULL, question TEXT NOT NULL,
      status TEXT NOT NULL, lease REAL NOT NULL, asked REAL NOT NULL, client TEXT,
      answer TEXT NOT NULL, answered REAL NOT NULL, rating TEXT,
      PRIMARY KEY (session, question_id)
    );
    CREATE UNIQUE INDEX turns_client ON turns (session, client) WHERE client IS NOT NULL;
    CREATE TABLE calls (
      session TEXT NOT NULL, message INTEGER NOT NULL, number INTEGER NOT NULL,
      created REAL NOT NULL, record BLOB NOT NULL, PRIMARY KEY (session, message, number)
    ) WITHOUT ROWID;
    CREATE INDEX calls_created ON calls (created);
    CREATE TABLE texts (
      session TEXT NOT NULL, digest TEXT NOT NULL, text BLOB NOT NULL,
      PRIMARY KEY (session, digest)
    ) WITHOUT ROWID;
    CREATE TABLE days (
      date TEXT PRIMARY KEY, turns INTEGER NOT NULL, errors INTEGER NOT NULL,
      prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
    # 3: session logs of the terminal chat. `at` is the Unix time of the event.
    """
    CREATE TABLE event_lines (
      session TEXT NOT NULL, number INTEGER NOT NULL, line BLOB NOT NULL, at REAL NOT NULL,
      PRIMARY KEY (session, number)
    ) WITHOUT ROWID;
    """,
    # 4: `again` counts the retries of a turn, so that only the latest attempt can end it.
    "ALTER TABLE turns ADD COLUMN again INTEGER NOT NULL DEFAULT 0",
    # 5: move texts to overflow pages, because b-tree pages may keep copies of deleted text.
    """
    CREATE TABLE titles (
      session TEXT PRIMARY KEY, fill BLOB NOT NULL DEFAULT (zeroblob({fill})), title TEXT NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO titles (session, title) SELECT id, title FROM sessions;
    CREATE TABLE new_sessions (
      id TEXT PRIMARY KEY, config TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL,
      turns INTEGER NOT NULL, tokens INTEGER NOT NULL, errors INTEGER NOT NULL,
      status TEXT NOT NULL, lease REAL NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO new_sessions
      SELECT id, config, created, updated, turns, tokens, errors, status, lease FROM sessions;
    DROP TABLE sessions;
    ALTER TABLE new_sessions RENAME TO sessions;
    CREATE INDEX sessions_updated ON sessions (updated, id);
    CREATE TABLE new_turns (
      session TEXT NOT NULL, question_id INTEGER NOT NULL, status TEXT NOT NULL,
      lease REAL NOT NULL, asked REAL NOT NULL, client TEXT, answered REAL NOT NULL, rating TEXT,
      again INTEGER NOT NULL, fill BLOB NOT NULL DEFAULT (zeroblob({fill})),
      question TEXT NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (session, question_id)
    ) WITHOUT ROWID;
    INSERT INTO new_turns
      (session, question_id, status, lease, asked, client, answered, rating, again, question,
      answer) SELECT session, question_id, status, lease, asked, client, answered, rating, again,
      question, answer FROM turns;
    DROP TABLE turns;
    ALTER TABLE new_turns RENAME TO turns;
    CREATE UNIQUE INDEX turns_client ON turns (session, client) WHERE client IS NOT NULL;
    CREATE TABLE new_calls (
      session TEXT NOT NULL, message INTEGER NOT NULL, number INTEGER NOT NULL,
      created REAL NOT NULL, fill BLOB NOT NULL DEFAULT (zeroblob({fill})), record BLOB NOT NULL,
      PRIMARY KEY (session, message, number)
    ) WITHOUT ROWID;
    INSERT INTO new_calls (session, message, number, created, record)
      SELECT session, message, number, created, record FROM calls;
    DROP TABLE calls;
    ALTER TABLE new_calls RENAME TO calls;
    CREATE INDEX calls_created ON calls (created);
    CREATE TABLE new_texts (
      session TEXT NOT NULL, digest TEXT NOT NULL,
      fill BLOB NOT NULL DEFAULT (zeroblob({fill})), text BLOB NOT NULL,
      PRIMARY KEY (session, digest)
    ) WITHOUT ROWID;
    INSERT INTO new_texts (session, digest, text) SELECT session, digest, text FROM texts;
    DROP TABLE texts;
    ALTER TABLE new_texts RENAME TO texts;
    CREATE TABLE new_event_lines (
      session TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL,
      fill BLOB NOT NULL DEFAULT (zeroblob({fill})), line BLOB NOT NULL,
      PRIMARY KEY (session, number)
    ) WITHOUT ROWID;
    INSERT INTO new_event_lines (session, number, at, line)
      SELECT session, number, at, line FROM event_lines;
    DROP TABLE event_lines;
    ALTER TABLE new_event_lines RENAME TO event_lines;
    """,
    # 6: the state of trimming. The state may contain a summary, so it is on overflow pages, too.
    """
    CREATE TABLE trim_states (
      session TEXT PRIMARY KEY, fill BLOB NOT NULL DEFAULT (zeroblob({fill})), state TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
    # 7: requests for a person.
    """
    CREATE TABLE contacts (
      id TEXT PRIMARY KEY, session TEXT NOT NULL, created REAL NOT NULL, attempts INTEGER NOT NULL,
      due REAL NOT NULL, delivered REAL, fill BLOB NOT NULL DEFAULT (zeroblob({fill})),
      name TEXT NOT NULL, email TEXT NOT NULL, message TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX contacts_due ON contacts (due) WHERE delivered IS NULL;
    CREATE INDEX contacts_created ON contacts (created);
    """,
    # 8: who answers a chat, and the lines of operators, which are turns without a question.
    """
    ALTER TABLE sessions ADD COLUMN state TEXT NOT NULL DEFAULT 'bot';
    ALTER TABLE sessions ADD COLUMN operator TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN since REAL NOT NULL DEFAULT 0.0;
    ALTER TABLE turns ADD COLUMN operator TEXT NOT NULL DEFAULT '';
    """,
    # 9: insights and search. `word_index` has numbers instead of words: docs/decisions/0024.
    # AUTOINCREMENT, because an id in the index must never belong to a second turn.
    """
    ALTER TABLE titles ADD COLUMN user TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN ups INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN downs INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET
      ups = (SELECT count(*) FROM turns WHERE session = id AND rating = 'up'),
      downs = (SELECT count(*) FROM turns WHERE session = id AND rating = 'down');
    ALTER TABLE days ADD COLUMN chats INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN ups INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN downs INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN handoffs INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN first_words INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN first_word_ms INTEGER NOT NULL DEFAULT 0;
    INSERT INTO days (date, turns, errors, prompt_tokens, completion_tokens, chats)
      SELECT date(created, 'unixepoch'), 0, 0, 0, 0, count(*) FROM sessions WHERE true GROUP BY 1
      ON CONFLICT (date) DO UPDATE SET chats = excluded.chats;
    INSERT INTO days (date, turns, errors, prompt_tokens, completion_tokens, ups, downs)
      SELECT date(answered, 'unixepoch'), 0, 0, 0, 0, sum(rating = 'up'), sum(rating = 'down')
      FROM turns WHERE rating IS NOT NULL GROUP BY 1
      ON CONFLICT (date) DO UPDATE SET ups = excluded.ups, downs = excluded.downs;
    CREATE TABLE asked (
      id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, question_id INTEGER NOT NULL,
      at REAL NOT NULL, unanswered INTEGER NOT NULL DEFAULT 0, down INTEGER NOT NULL DEFAULT 0,
      indexed INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO asked (session, question_id, at, down)
      SELECT session, question_id, answered, rating IS 'down' FROM turns
      WHERE status <> 'pending' ORDER BY answered;
    CREATE UNIQUE INDEX asked_turn ON asked (session, question_id);
    CREATE INDEX asked_gaps ON asked (id) WHERE unanswered OR down;
    CREATE INDEX asked_new ON asked (id) WHERE NOT indexed;
    CREATE VIRTUAL TABLE word_index
      USING fts5 (words, content = '', columnsize = 0, detail = none, tokenize = 'ascii');
    """,
    # 10: comments on answers that were rated down, which are on overflow pages as all columns after
    # `fill`; the last request for a new answer; and the questions that have the same terms. Turns
    # get their `topic` with their words, so all turns are indexed again.
    """
    ALTER TABLE turns ADD COLUMN comment TEXT NOT NULL DEFAULT '';
    ALTER TABLE turns ADD COLUMN attempt TEXT NOT NULL DEFAULT '';
    ALTER TABLE asked ADD COLUMN topic INTEGER NOT NULL DEFAULT 0;
    UPDATE asked SET indexed = 0 WHERE indexed;
    INSERT INTO word_index (word_index) VALUES ('delete-all');
    """,
    # 11: an index for each filter of the operator's list, in its order. `bucket` is the number of
    # a user, and not the user, whose copies could stay in b-tree pages: docs/decisions/0024.
    """
    ALTER TABLE sessions ADD COLUMN bucket INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET bucket = bucket_of((SELECT user FROM titles WHERE session = id))
      WHERE id IN (SELECT session FROM titles WHERE user <> '');
    CREATE INDEX sessions_user ON sessions (bucket, updated, id) WHERE bucket > 0;
    CREATE INDEX sessions_state ON sessions (state, updated, id) WHERE state <> 'bot';
    CREATE INDEX sessions_downs ON sessions (updated, id) WHERE downs > 0;
    CREATE INDEX sessions_ups ON sessions (updated, id) WHERE ups > 0;
    CREATE INDEX sessions_unanswered ON sessions (updated, id) WHERE unanswered > 0;
    CREATE INDEX sessions_errors ON sessions (updated, id) WHERE errors > 0;
    CREATE INDEX sessions_status ON sessions (status, updated, id) WHERE status <> 'ok';
    CREATE INDEX sessions_config ON sessions (config, updated, id)
    """,
    # 12: requests for a person that are done, and the consent that their visitors accepted.
    """
    ALTER TABLE contacts ADD COLUMN done REAL;
    ALTER TABLE contacts ADD COLUMN consent TEXT NOT NULL DEFAULT '';
    """,
    # 13: the calls of tools, on overflow pages as all columns after `fill`.
    """
    ALTER TABLE turns ADD COLUMN steps TEXT NOT NULL DEFAULT '';
    """,
    # 14: the calls of tools by chat, each with an index as in 11, and by day.
    """
    ALTER TABLE sessions ADD COLUMN tool_calls INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN tool_failures INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN declined INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX sessions_tool_calls ON sessions (updated, id) WHERE tool_calls > 0;
    CREATE INDEX sessions_tool_failures ON sessions (updated, id) WHERE tool_failures > 0;
    CREATE INDEX sessions_declined ON sessions (updated, id) WHERE declined > 0;
    CREATE TABLE tool_days (
      date TEXT NOT NULL, tool TEXT NOT NULL, uses INTEGER NOT NULL, failures INTEGER NOT NULL,
      unsure INTEGER NOT NULL, asked INTEGER NOT NULL, approved INTEGER NOT NULL,
      declined INTEGER NOT NULL, PRIMARY KEY (date, tool)
    ) WITHOUT ROWID
    """,
    # 15: requests of assistants for pages, by day.
    "ALTER TABLE days ADD COLUMN assistants INTEGER NOT NULL DEFAULT 0",
    # 16: answers of people, on overflow pages as all columns after `fill`.
    """
    CREATE TABLE answers (
      id TEXT PRIMARY KEY, session TEXT NOT NULL, site TEXT NOT NULL, created REAL NOT NULL,
      updated REAL NOT NULL, fill BLOB NOT NULL DEFAULT (zeroblob({fill})),
      question TEXT NOT NULL, text TEXT NOT NULL, author TEXT NOT NULL, page TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE answers_version (version INTEGER NOT NULL);
    INSERT INTO answers_version VALUES (0)
    """,
    # 17: the requests of a chat.
    "CREATE INDEX contacts_session ON contacts (session) WHERE session <> ''",
    # 18: the sign-ins of operators.
    """
    CREATE TABLE passes (
      id TEXT PRIMARY KEY, opened REAL NOT NULL, expires INTEGER NOT NULL, operator TEXT NOT NULL,
      site TEXT NOT NULL, may TEXT NOT NULL, ended REAL
    ) WITHOUT ROWID
    """,
    # 19: what came after the answers, by day.
    """
    ALTER TABLE days ADD COLUMN answers INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN proved INTEGER NOT NULL DEFAULT 0
    """,
    # 20: the images of messages, on overflow pages as all columns after `fill`.
    """
    ALTER TABLE turns ADD COLUMN images TEXT NOT NULL DEFAULT '';
    CREATE TABLE images (
      session TEXT NOT NULL, message INTEGER NOT NULL, number INTEGER NOT NULL,
      fill BLOB NOT NULL DEFAULT (zeroblob({fill})), image BLOB NOT NULL,
      PRIMARY KEY (session, message, number)
    ) WITHOUT ROWID
    """,
    # 21: the mails to visitors with operators' lines.
    """
    ALTER TABLE contacts ADD COLUMN mail_due REAL NOT NULL DEFAULT 0;
    ALTER TABLE contacts ADD COLUMN mail_line INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE contacts ADD COLUMN mail_attempts INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE contacts ADD COLUMN mailed REAL NOT NULL DEFAULT 0;
    CREATE INDEX contacts_mail ON contacts (mail_due) WHERE mail_due > 0
    """,
)

PAGE_SIZE = 1024
"""Bytes per page of a new file. Small, because every text occupies whole overflow pages."""


def most_in_tree(page_size: int) -> int:
    """Return how many bytes of a WITHOUT ROWID row SQLite stores in a b-tree page at most.

    The rest is stored on overflow pages: https://www.sqlite.org/fileformat2.html#cell_payload.
    """
    return (page_size - 12) * 64 // 255 - 23


def migrate(db: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Apply the missing migrations in one transaction; several processes may do so at once.

    Raises StoreUnavailable if a newer version of Kefu has migrated the file.
    """
    if _version(db) == len(migrations):
        return
    db.execute("BEGIN IMMEDIATE")
    version = _version(db)  # read again: another process may have migrated the file meanwhile
    if version > len(migrations):
        raise StoreUnavailable(f"SQLite: the file has schema {version}, from a newer Kefu")
    [page_size] = db.execute("PRAGMA page_size").fetchone()
    fill = str(most_in_tree(page_size))
    db.create_function("bucket_of", 1, bucket_of, deterministic=True)
    for number, step in enumerate(migrations[version:], version + 1):
        for statement in step.split(";"):  # `executescript` would commit the transaction
            db.execute(statement.replace("{fill}", fill))
        db.execute(f"PRAGMA user_version = {number}")
    db.execute("COMMIT")


def _version(db: sqlite3.Connection) -> int:
    row: tuple[int] = db.execute("PRAGMA user_version").fetchone()
    return row[0]
