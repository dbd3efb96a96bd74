-- The statements of items of kind triple, and the times at which they began and ended. A time goes from one moment to
-- before another one. NULL means that it is open. If a time is not known, its *_precision is NULL. Moments are
-- microseconds since 1970 on the calendar in which they were given, so that a year is the same in every zone. *_zone is
-- the distance of that calendar from UTC in microseconds.
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
