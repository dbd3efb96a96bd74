-- Windows over the stream of messages, which is the order in which they were kept. They are numbers and hold no words;
-- a message's number is never given again, so that a window holds whatever is left between its ends.
CREATE TABLE segment (
    number INTEGER PRIMARY KEY,
    first  INTEGER NOT NULL,  -- the message it begins in, and before which of its tokens
    start  INTEGER NOT NULL,
    last   INTEGER,           -- the message it ends in (none while it is open), and before which of its tokens
    finish INTEGER            -- (none: behind them all)
) STRICT;
CREATE INDEX segment_open ON segment (number) WHERE last IS NULL;

CREATE TABLE stream (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    length  INTEGER NOT NULL,  -- of a window, in tokens
    overlap INTEGER NOT NULL,
    base    INTEGER NOT NULL,  -- the token at which the first window of that length begins,
    number  INTEGER NOT NULL,  -- and its number
    tokens  INTEGER NOT NULL,  -- that the stream has had so far
    upto    INTEGER NOT NULL   -- the last message that was windowed
) STRICT;

-- An open window goes as far as windowing has come. One that is open though its length is no longer in use had lost
-- every message when that changed: it is none.
CREATE VIEW segment_range AS
SELECT number, first, start, last, finish, coalesce(last, (SELECT upto FROM stream)) AS upto,
       last IS NOT NULL OR number = (
           SELECT min(number) FROM segment WHERE last IS NULL AND number >= (SELECT number FROM stream)
       ) AS listed
FROM segment
WHERE last IS NOT NULL OR number >= (SELECT number FROM stream);

-- Windows by what is left of them: where the message at an end is gone, the nearest that is left stands there, whole.
CREATE VIEW segment_left AS
SELECT r.number, a.id AS first, iif(a.seq = r.first, r.start, 0) AS start,
       iif(r.last IS NULL, NULL, z.id) AS last, iif(z.seq = r.last, r.finish, NULL) AS finish, r.listed
FROM segment_range r
JOIN message a ON a.seq = (SELECT min(seq) FROM message WHERE seq BETWEEN r.first AND r.upto)
JOIN message z ON z.seq = (SELECT max(seq) FROM message WHERE seq BETWEEN r.first AND r.upto);
