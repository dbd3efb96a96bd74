-- What an item of kind triple states, and when that began and ended (the *_precision of what is not known is NULL): from
-- a moment to before another, NULL where that is open. Moments are microseconds since 1970 of the calendar that they were
-- given in, so that a year is the same one in every zone; *_zone is how far that calendar was from UTC, in microseconds.
CREATE TABLE triple (
    item             INTEGER PRIMARY KEY REFERENCES item (seq) ON DELETE CASCADE,
    subject          TEXT NOT NULL,
    predicate        TEXT NOT NULL,
    object           TEXT NOT NULL,
    start_from       INTEGER,
    start_from_zone  INTEGER,
    start_until      INTEGER,
    start_until_zone INTEGER,
    start_precision  TEXT,
    end_from         INTEGER,
    end_from_zone    INTEGER,
    end_until        INTEGER,
    end_until_zone   INTEGER,
    end_precision    TEXT
) STRICT;
