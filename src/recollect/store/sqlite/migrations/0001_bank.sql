CREATE TABLE state (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    version   INTEGER NOT NULL,  -- grows with every write. Items store it, so that an index can find the new ones
    epoch     INTEGER NOT NULL,  -- grows when items are removed or all vectors change. An index is then built again
    author    TEXT NOT NULL,     -- the writer of the last version
    forgotten INTEGER NOT NULL,  -- the number of times that something was forgotten
    scrubbed  INTEGER NOT NULL   -- the number of these times after which the files were cleaned of the words
) STRICT;
INSERT INTO state VALUES (1, 0, 0, '', 0, 0);

CREATE TABLE setting (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The raw log. Times are microseconds since 1970 in UTC. *_offset is the distance from UTC, in minutes, of the zone in
-- which they were given.
CREATE TABLE session (
    id             TEXT PRIMARY KEY,
    started        INTEGER NOT NULL,
    started_offset INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL UNIQUE,
    session   TEXT NOT NULL REFERENCES session (id),
    position  INTEGER NOT NULL,
    speaker   TEXT NOT NULL,
    role      TEXT NOT NULL,
    text      TEXT NOT NULL,
    captions  TEXT NOT NULL,
    at        INTEGER NOT NULL,
    at_offset INTEGER NOT NULL,
    recorded  INTEGER NOT NULL
) STRICT;
CREATE INDEX message_session ON message (session, position);

-- Everything below is derived from the log.
CREATE TABLE item (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT NOT NULL UNIQUE,
    version          INTEGER NOT NULL,
    kind             TEXT NOT NULL,
    text             TEXT NOT NULL,
    session          TEXT NOT NULL,
    speaker          TEXT NOT NULL,
    ord              INTEGER NOT NULL,
    mentioned        INTEGER NOT NULL,
    mentioned_offset INTEGER NOT NULL,
    recorded         INTEGER NOT NULL,
    network          TEXT,
    confidence       REAL,
    tokens           INTEGER NOT NULL,
    superseded       INTEGER,
    superseded_by    INTEGER REFERENCES item (seq) ON DELETE SET NULL,
    stages           TEXT NOT NULL  -- earlier states of the item: JSON, [until, sources, characters, tokens] each
) STRICT;
CREATE INDEX item_version ON item (version);
CREATE INDEX item_session ON item (session, kind, ord);
CREATE INDEX item_kind ON item (kind, mentioned);
CREATE INDEX item_superseded_by ON item (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE indexing (
    item   INTEGER PRIMARY KEY REFERENCES item (seq) ON DELETE CASCADE,
    vector BLOB NOT NULL,  -- float16, little-endian
    terms  BLOB NOT NULL,  -- uint32, little-endian
    asks   INTEGER NOT NULL
) STRICT;

CREATE TABLE source (
    item    INTEGER NOT NULL REFERENCES item (seq) ON DELETE CASCADE,
    n       INTEGER NOT NULL,
    message INTEGER NOT NULL REFERENCES message (seq) ON DELETE CASCADE,
    PRIMARY KEY (item, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX source_message ON source (message);

CREATE TABLE derivation (
    item   INTEGER NOT NULL REFERENCES item (seq) ON DELETE CASCADE,
    n      INTEGER NOT NULL,
    origin INTEGER NOT NULL REFERENCES item (seq) ON DELETE CASCADE,
    PRIMARY KEY (item, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX derivation_origin ON derivation (origin);

CREATE TABLE occurrence (
    item        INTEGER NOT NULL REFERENCES item (seq) ON DELETE CASCADE,
    n           INTEGER NOT NULL,
    words       TEXT NOT NULL,
    starts      INTEGER,
    ends        INTEGER,
    zone_offset INTEGER NOT NULL,
    precision   TEXT NOT NULL,
    PRIMARY KEY (item, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE link (
    source INTEGER NOT NULL REFERENCES item (seq) ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES item (seq) ON DELETE CASCADE,
    kind   TEXT NOT NULL,
    label  TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (source, target, kind, label)
) STRICT, WITHOUT ROWID;
-- Contains everything that a walk reads, so that the walk need not read the link itself.
CREATE INDEX link_target ON link (target, source, kind, weight);

CREATE TABLE entity (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE mention (
    entity  TEXT NOT NULL REFERENCES entity (id) ON DELETE CASCADE,
    item    INTEGER NOT NULL REFERENCES item (seq) ON DELETE CASCADE,
    surface TEXT NOT NULL,
    PRIMARY KEY (entity, item, surface)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_item ON mention (item);

CREATE TABLE entity_merge (
    id           TEXT PRIMARY KEY,
    entity       TEXT NOT NULL REFERENCES entity (id) ON DELETE CASCADE,
    surface      TEXT NOT NULL,
    score        REAL NOT NULL,
    string       REAL NOT NULL,
    cooccurrence REAL NOT NULL,
    temporal     REAL NOT NULL,
    at           INTEGER NOT NULL,
    undone       INTEGER
) STRICT, WITHOUT ROWID;

-- Finds whole phrases, word for word. The in-memory index ranks by single words.
CREATE VIRTUAL TABLE item_fts USING fts5 (
    text, content = 'item', content_rowid = 'seq', tokenize = 'unicode61 remove_diacritics 2'
);
-- The write itself adds new items, all at once. A trigger would take seven times as long.
CREATE TRIGGER item_removed AFTER DELETE ON item BEGIN
    INSERT INTO item_fts (item_fts, rowid, text) VALUES ('delete', old.seq, old.text);
END;
CREATE TRIGGER item_rewritten AFTER UPDATE OF text ON item BEGIN
    INSERT INTO item_fts (item_fts, rowid, text) VALUES ('delete', old.seq, old.text);
    INSERT INTO item_fts (rowid, text) VALUES (new.seq, new.text);
END;
CREATE VIRTUAL TABLE item_words USING fts5vocab (item_fts, 'row');

CREATE TABLE job (
    id          TEXT PRIMARY KEY,
    kind        TEXT NOT NULL,
    payload     TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'dead')),
    due         INTEGER NOT NULL DEFAULT 0,
    attempts    INTEGER NOT NULL DEFAULT 0,
    worker      TEXT,
    claim       TEXT,                        -- the claim of the worker that has it. No other worker can settle it
    lease_until INTEGER,
    again       INTEGER NOT NULL DEFAULT 0,  -- 1 if it was queued again while it ran. It then runs once more
    error       TEXT,                        -- the error of the last attempt, with the model's reply and the time
    reply       TEXT,
    failed      INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX job_waiting ON job (state, kind, due);

-- The messages that a job is about. A job that loses its last message by forgetting is removed too.
CREATE TABLE job_message (
    job     TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    message INTEGER NOT NULL REFERENCES message (seq) ON DELETE CASCADE,
    again   INTEGER NOT NULL DEFAULT 0,  -- 1 if it was named while the job ran. It is then for the next run
    PRIMARY KEY (job, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_message_message ON job_message (message);

-- The costs of model calls. The ledger contains no words of messages, and it stays when messages are forgotten.
CREATE TABLE ledger (
    seq           INTEGER PRIMARY KEY,
    at            INTEGER NOT NULL,
    operation     TEXT NOT NULL,
    role          TEXT NOT NULL,
    model         TEXT NOT NULL,
    failed        INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    tokens_in     INTEGER NOT NULL,
    tokens_out    INTEGER NOT NULL,
    tokens_cached INTEGER NOT NULL,
    seconds       REAL NOT NULL
) STRICT;
