"""The schema in PostgreSQL as numbered, forward-only migrations.

The table `kefu_schema` has the number of applied migrations. Never edit a released migration. Add a
new migration at the end instead. The columns have the names that they have in SQLite. All ids have
the collation "C": a join of columns with two collations uses no index.
"""

from __future__ import annotations

from collections.abc import Sequence

from kefu.errors import StoreUnavailable
from kefu.stores.sql.database import SqlConnection, hold, writing

MIGRATIONS: tuple[str, ...] = (
    # 1: everything that SQLite's migrations 1 to 16 make, without the logs of the terminal chat.
    """
    CREATE TABLE cooldowns (key text PRIMARY KEY, until float8 NOT NULL, reason text NOT NULL);
    CREATE TABLE rates (bucket text PRIMARY KEY, arrival float8 NOT NULL) WITH (fillfactor = 50);
    CREATE INDEX rates_arrival ON rates (arrival);
    CREATE TABLE budgets (
      budget text PRIMARY KEY, used bigint NOT NULL, expires float8 NOT NULL
    ) WITH (fillfactor = 50);
    CREATE TABLE secrets (name text PRIMARY KEY, value text NOT NULL);
    CREATE TABLE sessions (
      id text COLLATE "C" PRIMARY KEY, config text NOT NULL, created float8 NOT NULL,
      updated float8 NOT NULL, turns integer NOT NULL, tokens bigint NOT NULL,
      errors integer NOT NULL, status text NOT NULL, lease float8 NOT NULL,
      state text NOT NULL DEFAULT 'bot', operator text NOT NULL DEFAULT '',
      since float8 NOT NULL DEFAULT 0, unanswered integer NOT NULL DEFAULT 0,
      ups integer NOT NULL DEFAULT 0, downs integer NOT NULL DEFAULT 0,
      bucket integer NOT NULL DEFAULT 0, tool_calls integer NOT NULL DEFAULT 0,
      tool_failures integer NOT NULL DEFAULT 0, declined integer NOT NULL DEFAULT 0
    );
    CREATE INDEX sessions_updated ON sessions (updated, id);
    CREATE INDEX sessions_user ON sessions (bucket, updated, id) WHERE bucket > 0;
    CREATE INDEX sessions_state ON sessions (state, updated, id) WHERE state <> 'bot';
    CREATE INDEX sessions_downs ON sessions (updated, id) WHERE downs > 0;
    CREATE INDEX sessions_ups ON sessions (updated, id) WHERE ups > 0;
    CREATE INDEX sessions_unanswered ON sessions (updated, id) WHERE unanswered > 0;
    CREATE INDEX sessions_errors ON sessions (updated, id) WHERE errors > 0;
    CREATE INDEX sessions_status ON sessions (status, updated, id) WHERE status <> 'ok';
    CREATE INDEX sessions_config ON sessions (config, updated, id);
    CREATE INDEX sessions_tool_calls ON sessions (updated, id) WHERE tool_calls > 0;
    CREATE INDEX sessions_tool_failures ON sessions (updated, id) WHERE tool_failures > 0;
    CREATE INDEX sessions_declined ON sessions (updated, id) WHERE declined > 0;
    CREATE TABLE titles (
      session text COLLATE "C" PRIMARY KEY, title text NOT NULL, user text NOT NULL DEFAULT ''
    );
    CREATE TABLE turns (
      session text COLLATE "C" NOT NULL, question_id integer NOT NULL, status text NOT NULL,
      lease float8 NOT NULL, asked float8 NOT NULL, client text, answered float8 NOT NULL,
      rating text, again integer NOT NULL, question text NOT NULL, answer text NOT NULL,
      operator text NOT NULL DEFAULT '', comment text NOT NULL DEFAULT '',
      attempt text NOT NULL DEFAULT '', steps text NOT NULL DEFAULT '',
      PRIMARY KEY (session, question_id)
    );
    CREATE UNIQUE INDEX turns_client ON turns (session, client) WHERE client IS NOT NULL;
    CREATE TABLE calls (
      session text COLLATE "C" NOT NULL, message integer NOT NULL, number integer NOT NULL,
      created float8 NOT NULL, record bytea NOT NULL, PRIMARY KEY (session, message, number)
    );
    CREATE INDEX calls_created ON calls (created);
    CREATE TABLE texts (
      session text COLLATE "C" NOT NULL, digest text NOT NULL, text bytea NOT NULL,
      PRIMARY KEY (session, digest)
    );
    CREATE TABLE trim_states (session text COLLATE "C" PRIMARY KEY, state text NOT NULL);
    CREATE TABLE contacts (
      id text COLLATE "C" PRIMARY KEY, session text COLLATE "C" NOT NULL, created float8 NOT NULL,
      attempts integer NOT NULL, due float8 NOT NULL, delivered float8, name text NOT NULL,
      email text NOT NULL, message text NOT NULL, done float8, consent text NOT NULL DEFAULT ''
    );
    CREATE INDEX contacts_due ON contacts (due) WHERE delivered IS NULL;
    CREATE INDEX contacts_created ON contacts (created);
    CREATE TABLE answers (
      id text COLLATE "C" PRIMARY KEY, session text COLLATE "C" NOT NULL, site text NOT NULL,
      created float8 NOT NULL, updated float8 NOT NULL, question text NOT NULL,
      text text NOT NULL, author text NOT NULL, page text NOT NULL
    );
    CREATE TABLE answers_version (version integer NOT NULL);
    INSERT INTO answers_version VALUES (0);
    CREATE TABLE days (
      date text PRIMARY KEY, turns bigint NOT NULL, errors bigint NOT NULL,
      prompt_tokens bigint NOT NULL, completion_tokens bigint NOT NULL,
      chats bigint NOT NULL DEFAULT 0, unanswered bigint NOT NULL DEFAULT 0,
      ups bigint NOT NULL DEFAULT 0, downs bigint NOT NULL DEFAULT 0,
      handoffs bigint NOT NULL DEFAULT 0, first_words bigint NOT NULL DEFAULT 0,
      first_word_ms bigint NOT NULL DEFAULT 0, assistants bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    CREATE TABLE tool_days (
      date text NOT NULL, tool text COLLATE "C" NOT NULL, uses bigint NOT NULL,
      failures bigint NOT NULL, unsure bigint NOT NULL, asked bigint NOT NULL,
      approved bigint NOT NULL, declined bigint NOT NULL, PRIMARY KEY (date, tool)
    ) WITH (fillfactor = 50);
    CREATE TABLE asked (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session text COLLATE "C" NOT NULL,
      question_id integer NOT NULL, at float8 NOT NULL, unanswered boolean NOT NULL DEFAULT false,
      down boolean NOT NULL DEFAULT false, indexed boolean NOT NULL DEFAULT false,
      topic bigint NOT NULL DEFAULT 0
    );
    CREATE UNIQUE INDEX asked_turn ON asked (session, question_id);
    CREATE INDEX asked_gaps ON asked (id) WHERE unanswered OR down;
    CREATE INDEX asked_new ON asked (id) WHERE NOT indexed;
    CREATE TABLE word_index (rowid bigint PRIMARY KEY, words tsvector NOT NULL);
    CREATE INDEX word_index_words ON word_index USING gin (words) WITH (fastupdate = off)
    """,
    # 2: the requests of a chat.
    "CREATE INDEX contacts_session ON contacts (session) WHERE session <> ''",
    # 3: the sign-ins of operators.
    """
    CREATE TABLE passes (
      id text COLLATE "C" PRIMARY KEY, opened float8 NOT NULL, expires bigint NOT NULL,
      operator text NOT NULL, site text NOT NULL, may text NOT NULL, ended float8
    )
    """,
    # 4: what came after the answers, by day.
    """
    ALTER TABLE days ADD COLUMN answers bigint NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN again bigint NOT NULL DEFAULT 0;
    ALTER TABLE days ADD COLUMN proved bigint NOT NULL DEFAULT 0
    """,
    # 5: the images of messages.
    """
    ALTER TABLE turns ADD COLUMN images text NOT NULL DEFAULT '';
    CREATE TABLE images (
      session text COLLATE "C" NOT NULL, message integer NOT NULL, number integer NOT NULL,
      image bytea NOT NULL, PRIMARY KEY (session, message, number)
    )
    """,
    # 6: the mails to visitors with operators' lines.
    """
    ALTER TABLE contacts ADD COLUMN mail_due float8 NOT NULL DEFAULT 0;
    ALTER TABLE contacts ADD COLUMN mail_line bigint NOT NULL DEFAULT 0;
    ALTER TABLE contacts ADD COLUMN mail_attempts bigint NOT NULL DEFAULT 0;
    ALTER TABLE contacts ADD COLUMN mailed float8 NOT NULL DEFAULT 0;
    CREATE INDEX contacts_mail ON contacts (mail_due) WHERE mail_due > 0
    """,
)

_VERSION = "SELECT coalesce(max(version), 0) FROM kefu_schema"


def migrate(db: SqlConnection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Apply the missing migrations in one transaction. Of several processes, one does so.

    Raises StoreUnavailable if a newer version of Kefu has migrated the database.
    """
    [known] = db.execute("SELECT to_regclass('kefu_schema')").fetchone()
    if known and _version(db, migrations) == len(migrations):
        return
    with writing(db):
        hold(db, "schema")
        db.execute("CREATE TABLE IF NOT EXISTS kefu_schema (version integer PRIMARY KEY)")
        version = _version(db, migrations)  # read again: another process may have migrated
        for number, step in enumerate(migrations[version:], version + 1):
            for statement in step.split(";"):
                db.execute(statement)
            db.execute("INSERT INTO kefu_schema VALUES (?)", (number,))


def _version(db: SqlConnection, migrations: Sequence[str]) -> int:
    [version] = db.execute(_VERSION).fetchone()
    if version > len(migrations):
        raise StoreUnavailable(
            f"PostgreSQL: the database has schema {version}, from a newer Kefu. This one knows"
            f" {len(migrations)}."
        )
    return int(version)
