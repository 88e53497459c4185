-- The tables of `state.db`. Whatever an older version left is made anew from the logs.

DROP TABLE IF EXISTS sessions;
DROP TABLE IF EXISTS bookmarks;
DROP TABLE IF EXISTS births;
DROP TABLE IF EXISTS changes;
DROP TABLE IF EXISTS letters;
DROP TABLE IF EXISTS receipts;
DROP TABLE IF EXISTS approvals;

CREATE TABLE sessions (
    id             TEXT PRIMARY KEY,
    path           TEXT,
    archived       INTEGER NOT NULL,
    -- NULL where the first line of the log cannot be read.
    created        INTEGER,
    cwd            TEXT,
    source         TEXT,
    source_kind    TEXT,
    model_provider TEXT,
    forked_from    TEXT,
    updated        INTEGER NOT NULL,
    model          TEXT,
    name           TEXT,
    note           TEXT,
    preview        TEXT,
    tokens         INTEGER NOT NULL,
    -- The log is applied up to here.
    offset         INTEGER NOT NULL,
    lines          INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_updated ON sessions (updated, id);
CREATE INDEX sessions_created ON sessions (created, id);
CREATE INDEX sessions_name ON sessions (name) WHERE name IS NOT NULL;

CREATE TABLE bookmarks (
    response_id TEXT NOT NULL,
    session     TEXT NOT NULL,
    position    INTEGER NOT NULL,
    written     INTEGER NOT NULL,
    PRIMARY KEY (response_id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX bookmarks_session ON bookmarks (session);

-- An agent tree is told by many logs, which are applied one by one and in any order. So a
-- row is what one line says: `session` is its log, `position` where it begins. Nothing is
-- merged before somebody asks; then the rows of a tree are put in the order of `ord`.

-- `rooted` and `born`.
CREATE TABLE births (
    session  TEXT NOT NULL,
    position INTEGER NOT NULL,
    tree     TEXT NOT NULL,
    ord      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    agent    INTEGER NOT NULL,
    -- The session of the agent.
    child    TEXT NOT NULL,
    parent   INTEGER,
    path     TEXT NOT NULL,
    origin   TEXT,
    role     TEXT,
    label    TEXT,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX births_tree ON births (tree, agent);
CREATE INDEX births_child ON births (child, at);

-- `started`, `ended`, `halted`, `shut`, `reopened`, `released` and `pruned`.
CREATE TABLE changes (
    session      TEXT NOT NULL,
    position     INTEGER NOT NULL,
    tree         TEXT NOT NULL,
    ord          INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    agent        INTEGER NOT NULL,
    change       TEXT NOT NULL,
    task         TEXT,
    -- JSON, as is the reason why the task stopped.
    ending       TEXT,
    stop         TEXT,
    last_message TEXT,
    tokens       INTEGER,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX changes_tree ON changes (tree, ord);
CREATE INDEX changes_agent ON changes (tree, agent, ord);

-- Messages, by those who sent them: `born`, `sent`, and `ended` with a callback.
CREATE TABLE letters (
    session  TEXT NOT NULL,
    position INTEGER NOT NULL,
    tree     TEXT NOT NULL,
    ord      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    -- The recipient.
    agent    INTEGER NOT NULL,
    message  TEXT NOT NULL,
    -- JSON, with the sender.
    kind     TEXT NOT NULL,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX letters_tree ON letters (tree);

-- Messages, by those who got them: `started`, `took` and `consumed`.
CREATE TABLE receipts (
    session  TEXT NOT NULL,
    position INTEGER NOT NULL,
    tree     TEXT NOT NULL,
    ord      INTEGER NOT NULL,
    agent    INTEGER NOT NULL,
    message  TEXT NOT NULL,
    consumed INTEGER NOT NULL,
    PRIMARY KEY (session, position, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_tree ON receipts (tree);

-- Asked and answered in the same log.
CREATE TABLE approvals (
    session  TEXT NOT NULL,
    position INTEGER NOT NULL,
    call_id  TEXT NOT NULL,
    task     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    what     TEXT NOT NULL,
    asked    INTEGER NOT NULL,
    -- JSON, of a question only that it is settled; NULL while it is open.
    decision TEXT,
    PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_open ON approvals (session) WHERE decision IS NULL;
