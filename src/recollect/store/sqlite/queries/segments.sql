-- name: stream
SELECT length, overlap, base, number, tokens,
       (SELECT id FROM message WHERE seq = (SELECT max(seq) FROM message WHERE seq <= stream.upto))
FROM stream;

-- name: put_stream
INSERT OR REPLACE INTO stream (one, length, overlap, base, number, tokens, upto) VALUES (1, ?, ?, ?, ?, ?, ?);

-- name: put_segment
INSERT INTO segment (number, first, start, last, finish) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (number) DO UPDATE SET
    first = excluded.first, start = excluded.start, last = excluded.last, finish = excluded.finish;

-- name: unsegmented
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important FROM message
WHERE seq > coalesce((SELECT upto FROM stream), 0) ORDER BY seq;

-- name: segments
SELECT number, first, start, last, finish FROM segment_left WHERE listed ORDER BY number;

-- name: segments_by_number
SELECT number, first, start, last, finish FROM segment_left
WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number;

-- name: all_segments
SELECT number, first, start, last, finish FROM segment_left ORDER BY number;

-- name: count_segments
SELECT count(*) FROM segment_left WHERE listed;

-- name: segments_of
SELECT m.id, r.number FROM message m CROSS JOIN segment_range r
WHERE m.id IN (SELECT value FROM json_each(?)) AND r.listed AND m.seq BETWEEN r.first AND r.upto
ORDER BY m.seq, r.number;

-- name: segment_messages
SELECT
    m.id, m.session, m.position, m.speaker, m.role, m.text, m.captions, m.at, m.at_offset, m.recorded, m.important,
    r.number
FROM segment_range r CROSS JOIN message m ON m.seq BETWEEN r.first AND r.upto
WHERE r.number IN (SELECT value FROM json_each(?)) ORDER BY r.number, m.seq;

-- name: split_segments
SELECT r.number, a.id, iif(a.seq = r.first, r.start, 0), z.id, iif(z.seq = r.last, r.finish, NULL)
FROM segment_range r
JOIN message a ON a.seq = (
    SELECT min(seq) FROM message WHERE seq BETWEEN r.first AND r.last AND seq NOT IN (SELECT seq FROM temp.doomed)
)
JOIN message z ON z.seq = (
    SELECT max(seq) FROM message WHERE seq BETWEEN r.first AND r.last AND seq NOT IN (SELECT seq FROM temp.doomed)
)
WHERE EXISTS (SELECT 1 FROM temp.doomed WHERE seq BETWEEN r.first AND r.last)
   OR r.number IN (SELECT ord FROM item WHERE kind = 'summary' AND seq IN (SELECT item FROM temp.doomed_item))
ORDER BY r.number;

-- name: left_of_segment
SELECT m.id, m.session, m.position, m.speaker, m.role, m.text, m.captions, m.at, m.at_offset, m.recorded, m.important
FROM segment_range r CROSS JOIN message m ON m.seq BETWEEN r.first AND r.upto
WHERE r.number = ? AND m.seq NOT IN (SELECT seq FROM temp.doomed) ORDER BY m.seq;
