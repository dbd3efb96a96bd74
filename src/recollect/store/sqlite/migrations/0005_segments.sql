-- Windows over the stream of messages, which is the order in which they were stored. A window consists of numbers and
-- contains no words. A message's number is never used again, so that a window contains every message that is left
-- between its ends.
CREATE TABLE segment (
    number INTEGER PRIMARY KEY,
    first  INTEGER NOT NULL,  -- the message in which it begins, and the token (start) before which it begins
    start  INTEGER NOT NULL,
    last   INTEGER,           -- the message in which it ends (NULL while it is open), and the token (finish)
    finish INTEGER            -- before which it ends (NULL: after the last token of the message)
) STRICT;
CREATE INDEX segment_open ON segment (number) WHERE last IS NULL;

CREATE TABLE stream (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    length  INTEGER NOT NULL,  -- the length of a window, in tokens
    overlap INTEGER NOT NULL,
    base    INTEGER NOT NULL,  -- the token at which the first window of that length begins
    number  INTEGER NOT NULL,  -- the number of that window
    tokens  INTEGER NOT NULL,  -- the number of tokens that the stream has had so far
    upto    INTEGER NOT NULL   -- the last message that was windowed
) STRICT;

-- An open window ends at the last windowed message. An open window whose length is no longer in use had lost all its
-- messages when the length changed, so that it does not count.
CREATE VIEW segment_range AS
SELECT number, first, start, last, finish, coalesce(last, (SELECT upto FROM stream)) AS upto,
       last IS NOT NULL OR number = (
           SELECT min(number) FROM segment WHERE last IS NULL AND number >= (SELECT number FROM stream)
       ) AS listed
FROM segment
WHERE last IS NOT NULL OR number >= (SELECT number FROM stream);

-- Windows as far as they are left. If the message at an end was removed, the window ends with the nearest whole message
-- that is left.
CREATE VIEW segment_left AS
SELECT r.number, a.id AS first, iif(a.seq = r.first, r.start, 0) AS start,
       iif(r.last IS NULL, NULL, z.id) AS last, iif(z.seq = r.last, r.finish, NULL) AS finish, r.listed
FROM segment_range r
JOIN message a ON a.seq = (SELECT min(seq) FROM message WHERE seq BETWEEN r.first AND r.upto)
JOIN message z ON z.seq = (SELECT max(seq) FROM message WHERE seq BETWEEN r.first AND r.upto);
