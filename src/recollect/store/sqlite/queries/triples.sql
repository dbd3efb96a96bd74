-- name: clear_triple
DELETE FROM triple WHERE item = ?;

-- name: add_triple
INSERT INTO triple (item, subject, predicate, object,
                    start_from, start_from_zone, start_until, start_until_zone, start_precision,
                    end_from, end_from_zone, end_until, end_until_zone, end_precision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: triples_of
SELECT t.item, t.subject, t.predicate, t.object, t.start_precision IS NOT NULL OR t.end_precision IS NOT NULL,
       coalesce(t.start_from, -:open), coalesce(t.start_until, iif(t.start_precision IS NULL, -:open, :open)),
       coalesce(t.end_from, iif(t.end_precision IS NULL, :open, -:open)), coalesce(t.end_until, :open)
FROM triple t WHERE t.item IN (SELECT value FROM json_each(:numbers)) ORDER BY t.item;

-- name: linked
SELECT item, max(weight) FROM (
    SELECT k.target AS item, k.weight FROM item i JOIN link k ON k.source = i.seq
    WHERE i.id IN (SELECT value FROM json_each(:items)) AND k.kind IN (SELECT value FROM json_each(:kinds))
    UNION ALL
    SELECT k.source, k.weight FROM item i JOIN link k ON k.target = i.seq
    WHERE i.id IN (SELECT value FROM json_each(:items)) AND k.kind IN (SELECT value FROM json_each(:kinds))
)
WHERE item NOT IN (SELECT seq FROM item WHERE id IN (SELECT value FROM json_each(:items)))
GROUP BY item;
