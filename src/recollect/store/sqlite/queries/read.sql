-- name: state
SELECT version, epoch FROM state;

-- name: author
SELECT author FROM state;

-- name: embedder
SELECT key, value FROM setting WHERE key IN ('embedder', 'dimension');

-- name: numbers_between
SELECT seq FROM item WHERE version > :since AND version <= :upto ORDER BY seq;

-- name: count_between
SELECT count(*) FROM item WHERE version > :since AND version <= :upto;

-- name: rows_of
SELECT i.seq, i.kind, i.session, i.speaker, i.ord, i.mentioned, i.recorded, i.superseded, x.asks,
       -- a gist, a triple, and a turn that contains its answer are not an answer to the item before
       i.kind IN ('gist', 'triple') OR EXISTS (SELECT 1 FROM source s WHERE s.item = i.seq AND s.n = 1), x.vector, x.terms, i.mentioned_offset
FROM item i JOIN indexing x ON x.item = i.seq
WHERE i.seq IN (SELECT value FROM json_each(:numbers)) ORDER BY i.seq;

-- name: spans_of
SELECT o.item, coalesce(o.starts, -:open), coalesce(o.ends, :open),
       coalesce(o.starts + o.zone_offset * 60000000, -:open), coalesce(o.ends + o.zone_offset * 60000000, :open),
       o.precision = 'range'
FROM occurrence o WHERE o.item IN (SELECT value FROM json_each(:numbers)) ORDER BY o.item, o.n;

-- name: items
SELECT i.seq, i.id, i.kind, i.text, i.session, i.speaker, i.ord, i.mentioned, i.mentioned_offset, i.recorded, i.network,
       i.confidence, i.tokens, i.superseded, i.label, i.stages,
       (SELECT json_group_array(id) FROM
        (SELECT m.id FROM source s JOIN message m ON m.seq = s.message WHERE s.item = i.seq ORDER BY s.n)),
       (SELECT json_group_array(id) FROM
        (SELECT o.id FROM derivation d JOIN item o ON o.seq = d.origin WHERE d.item = i.seq ORDER BY d.n)),
       (SELECT json_group_array(json_array(words, starts, ends, zone_offset, precision)) FROM
        (SELECT words, starts, ends, zone_offset, precision FROM occurrence WHERE item = i.seq ORDER BY n)),
       t.subject, t.predicate, t.object,
       t.start_from, t.start_from_zone, t.start_until, t.start_until_zone, t.start_precision,
       t.end_from, t.end_from_zone, t.end_until, t.end_until_zone, t.end_precision
FROM item i LEFT JOIN triple t ON t.item = i.seq WHERE i.seq IN (SELECT value FROM json_each(?));

-- name: last_turn
SELECT seq FROM item WHERE session = :session AND kind = 'turn' ORDER BY ord DESC LIMIT 1;

-- name: message_count
SELECT coalesce(max(position) + 1, 0) FROM message WHERE session = :session;

-- name: recent_turns
-- The plus sign prevents the use of the index on kinds, because sorting all turns would take long.
SELECT seq FROM item WHERE +kind = 'turn' ORDER BY seq DESC LIMIT :limit;

-- name: messages
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important FROM message ORDER BY seq;

-- name: messages_by_id
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important
FROM message WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq;

-- name: messages_of
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important
FROM message WHERE session IN (SELECT value FROM json_each(?)) ORDER BY seq;

-- name: unread
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important FROM message
WHERE NOT EXISTS (SELECT 1 FROM source s JOIN item i ON i.seq = s.item
                  WHERE s.message = message.seq AND i.kind NOT IN ('turn', 'summary')
                    AND NOT i.id GLOB 'given:*')
  AND NOT EXISTS (SELECT 1 FROM job_message n JOIN job j ON j.id = n.job
                  WHERE n.message = message.seq AND j.state <> 'dead')
ORDER BY seq;

-- name: adjacent_messages
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important FROM message
WHERE seq IN (SELECT near.seq FROM message one JOIN message near
              ON near.session = one.session AND near.position BETWEEN one.position - 1 AND one.position + 1
              WHERE one.id IN (SELECT value FROM json_each(?)))
ORDER BY seq;

-- name: messages_before
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important
FROM (SELECT * FROM message WHERE session = :session AND position < :position ORDER BY position DESC LIMIT :count)
ORDER BY position;

-- name: sessions
SELECT id, started, started_offset FROM session ORDER BY started, id;

-- name: speakers
SELECT DISTINCT speaker FROM message;

-- name: edges
SELECT source, target, kind, weight FROM link WHERE source IN (SELECT value FROM json_each(:refs))
UNION ALL
SELECT target, source, kind, weight FROM link WHERE target IN (SELECT value FROM json_each(:refs));

-- name: phrase
SELECT rowid FROM item_fts WHERE item_fts MATCH ? LIMIT 1000;

-- name: hidden
SELECT seq FROM item WHERE id IN (SELECT value FROM json_each(:ids))
UNION
SELECT s.item FROM source s JOIN message m ON m.seq = s.message WHERE m.id IN (SELECT value FROM json_each(:ids));

-- name: item_ids
SELECT seq, id FROM item WHERE seq IN (SELECT value FROM json_each(?));

-- name: recent_mentions
SELECT DISTINCT i.id FROM mention m JOIN item i ON i.seq = m.item WHERE m.entity = ? ORDER BY m.item DESC LIMIT ?;

-- name: items_of_kinds
SELECT seq FROM item
WHERE kind IN (SELECT value FROM json_each(:kinds)) AND (:superseded OR superseded IS NULL)
ORDER BY mentioned DESC, seq DESC LIMIT :limit;

-- name: items_of_entity
SELECT DISTINCT i.seq FROM mention m JOIN item i ON i.seq = m.item
WHERE m.entity = :entity AND i.kind IN (SELECT value FROM json_each(:kinds)) AND (:superseded OR i.superseded IS NULL)
ORDER BY i.mentioned DESC, i.seq DESC LIMIT :limit;

-- name: items_from
SELECT DISTINCT i.seq FROM message m JOIN source s ON s.message = m.seq JOIN item i ON i.seq = s.item
WHERE m.id IN (SELECT value FROM json_each(:messages)) AND i.kind IN (SELECT value FROM json_each(:kinds))
  AND i.superseded IS NULL
ORDER BY i.seq;

-- name: mentions_in
SELECT m.entity, i.id, m.surface FROM item i JOIN mention m ON m.item = i.seq
WHERE i.id IN (SELECT value FROM json_each(?)) ORDER BY i.seq, m.entity, m.surface;

-- name: names_in_use
SELECT e.name,
       (SELECT json_group_array(id) FROM
        (SELECT g.id FROM source s JOIN message g ON g.seq = s.message WHERE s.item = u.first ORDER BY s.n))
FROM (
    SELECT m.entity, count(DISTINCT m.item) AS mentions, min(m.item) AS first FROM item i JOIN mention m ON m.item = i.seq
    WHERE i.kind IN (SELECT value FROM json_each(:kinds)) AND i.superseded IS NULL GROUP BY m.entity
) u JOIN entity e ON e.id = u.entity
ORDER BY u.mentions DESC, e.name, e.id LIMIT :limit;

-- name: entities
SELECT id, name, kind, first_seen, last_seen FROM entity ORDER BY id;

-- name: entities_by_id
SELECT id, name, kind, first_seen, last_seen FROM entity WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id;

-- name: setting
SELECT value FROM setting WHERE key = ?;

-- name: aliases
SELECT entity, surface, count(*) FROM mention GROUP BY entity, surface;

-- name: entity_pairs
SELECT DISTINCT a.entity, b.entity FROM mention a JOIN mention b ON b.item = a.item AND b.entity > a.entity;

-- name: merges
SELECT id, entity, surface, score, string, cooccurrence, temporal, at, undone FROM entity_merge ORDER BY at, id;

-- name: vectors_of
SELECT i.id, x.vector FROM item i JOIN indexing x ON x.item = i.seq WHERE i.id IN (SELECT value FROM json_each(?));

-- name: mentions_of
SELECT i.id, m.surface FROM mention m JOIN item i ON i.seq = m.item WHERE m.entity = ? ORDER BY m.item;

-- name: counts
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM session), (SELECT count(*) FROM item),
       (SELECT count(*) FROM entity), (SELECT min(at) FROM message), (SELECT max(at) FROM message);

-- name: links_by_kind
SELECT kind, count(*) FROM link GROUP BY kind ORDER BY kind;

-- name: count_items
SELECT count(*) FROM item;
