-- name: state
SELECT version, epoch FROM state;

-- name: author
SELECT author FROM state;

-- name: bump_version
UPDATE state SET version = version + 1, author = ? RETURNING version;

-- name: bump_epoch
UPDATE state SET version = version + 1, epoch = epoch + 1, author = '';

-- name: embedder
SELECT key, value FROM setting WHERE key IN ('embedder', 'dimension');

-- name: set_setting
INSERT INTO setting (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: add_session
INSERT INTO session (id, started, started_offset) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET started = excluded.started, started_offset = excluded.started_offset
WHERE excluded.started < session.started;

-- name: add_message
INSERT INTO message (id, session, position, speaker, role, text, captions, at, at_offset, recorded)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: seq_of_messages
SELECT id, seq FROM message WHERE id IN (SELECT value FROM json_each(?));

-- name: seq_of_items
SELECT id, seq FROM item WHERE id IN (SELECT value FROM json_each(?));

-- name: last_item
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'item'), 0);

-- name: put_item
INSERT INTO item (seq, id, version, kind, text, session, speaker, ord, mentioned, mentioned_offset, recorded, network,
                  confidence, tokens, superseded)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    version = excluded.version, text = excluded.text, speaker = excluded.speaker, ord = excluded.ord,
    mentioned = excluded.mentioned, mentioned_offset = excluded.mentioned_offset, recorded = excluded.recorded,
    network = excluded.network, confidence = excluded.confidence, tokens = excluded.tokens,
    superseded = excluded.superseded;

-- name: add_words
INSERT INTO item_fts (rowid, text) SELECT seq, text FROM item WHERE seq > ?;

-- name: clear_occurrences
DELETE FROM occurrence WHERE item = ?;

-- name: clear_sources
DELETE FROM source WHERE item = ?;

-- name: clear_derivations
DELETE FROM derivation WHERE item = ?;

-- name: clear_mentions
DELETE FROM mention WHERE item = ?;

-- name: clear_links
DELETE FROM link WHERE source = ?;

-- name: put_indexing
INSERT INTO indexing (item, vector, terms, asks) VALUES (?, ?, ?, ?)
ON CONFLICT (item) DO UPDATE SET vector = excluded.vector, terms = excluded.terms, asks = excluded.asks;

-- name: add_occurrence
INSERT INTO occurrence (item, n, words, starts, ends, zone_offset, precision) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: add_source
INSERT INTO source (item, n, message) VALUES (?, ?, ?);

-- name: add_derivation
INSERT INTO derivation (item, n, origin) VALUES (?, ?, ?);

-- name: add_link
INSERT INTO link (source, target, kind, label, weight) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (source, target, kind, label) DO UPDATE SET weight = max(weight, excluded.weight);

-- name: put_entity
INSERT INTO entity (id, name, kind, first_seen, last_seen) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, kind = excluded.kind,
    first_seen = min(first_seen, excluded.first_seen), last_seen = max(last_seen, excluded.last_seen);

-- name: add_mention
INSERT INTO mention (entity, item, surface) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: put_merge
INSERT INTO entity_merge (id, entity, surface, score, string, cooccurrence, temporal, at, undone)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- name: undo_merge
UPDATE entity_merge SET undone = :at WHERE id = :id;

-- name: move_mention
UPDATE OR REPLACE mention SET entity = ? WHERE entity = ? AND item = ? AND surface = ?;

-- name: add_job
INSERT INTO job (id, kind, payload) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- name: rows_since
SELECT i.seq, i.kind, i.session, i.speaker, i.ord, i.mentioned, i.recorded, x.asks,
       EXISTS (SELECT 1 FROM source s WHERE s.item = i.seq AND s.n = 1), x.vector, x.terms
FROM item i JOIN indexing x ON x.item = i.seq
WHERE i.version > :version AND i.version <= :upto ORDER BY i.seq;

-- name: rows_upto
SELECT count(*) FROM item WHERE version <= :upto;

-- name: spans_since
SELECT o.item, o.starts, o.ends
FROM item i JOIN occurrence o ON o.item = i.seq
WHERE i.version > :version AND i.version <= :upto ORDER BY o.item, o.n;

-- name: items
SELECT i.seq, i.id, i.kind, i.text, i.session, i.speaker, i.ord, i.mentioned, i.mentioned_offset, i.recorded, i.network,
       i.confidence, i.tokens, i.superseded,
       (SELECT json_group_array(id) FROM
        (SELECT m.id FROM source s JOIN message m ON m.seq = s.message WHERE s.item = i.seq ORDER BY s.n)),
       (SELECT json_group_array(id) FROM
        (SELECT o.id FROM derivation d JOIN item o ON o.seq = d.origin WHERE d.item = i.seq ORDER BY d.n)),
       (SELECT json_group_array(json_array(words, starts, ends, zone_offset, precision)) FROM
        (SELECT words, starts, ends, zone_offset, precision FROM occurrence WHERE item = i.seq ORDER BY n))
FROM item i WHERE i.seq IN (SELECT value FROM json_each(?));

-- name: last_turn
SELECT seq FROM item WHERE session = :session AND kind = 'turn' ORDER BY ord DESC LIMIT 1;

-- name: message_count
SELECT coalesce(max(position) + 1, 0) FROM message WHERE session = :session;

-- name: recent_turns
SELECT seq FROM item WHERE kind = 'turn' ORDER BY seq DESC LIMIT :limit;

-- name: messages
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded FROM message ORDER BY seq;

-- name: messages_by_id
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded
FROM message WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq;

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

-- name: entities
SELECT id, name, kind, first_seen, last_seen FROM entity ORDER BY id;

-- name: aliases
SELECT entity, surface, count(*) FROM mention GROUP BY entity, surface;

-- name: entity_pairs
SELECT DISTINCT a.entity, b.entity FROM mention a JOIN mention b ON b.item = a.item AND b.entity > a.entity;

-- name: merges
SELECT id, entity, surface, score, string, cooccurrence, temporal, at, undone FROM entity_merge ORDER BY at, id;

-- name: mentions_of
SELECT i.id, m.surface FROM mention m JOIN item i ON i.seq = m.item WHERE m.entity = ? ORDER BY m.item;

-- name: counts
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM session), (SELECT count(*) FROM item),
       (SELECT count(*) FROM entity), (SELECT count(*) FROM link), (SELECT min(at) FROM message),
       (SELECT max(at) FROM message);

-- name: count_items
SELECT count(*) FROM item;

-- name: set_vector
UPDATE indexing SET vector = ? WHERE item = (SELECT seq FROM item WHERE id = ?);

-- name: give_up_jobs
UPDATE job SET state = 'dead', worker = NULL, lease_until = NULL, error = 'its worker vanished each time'
WHERE state = 'claimed' AND lease_until < :now AND attempts >= :most;

-- name: claim_job
UPDATE job SET state = 'claimed', attempts = attempts + 1, worker = :worker, lease_until = :until
WHERE id = (
    SELECT id FROM job
    WHERE kind IN (SELECT value FROM json_each(:kinds))
      AND ((state = 'waiting' AND run_after <= :now) OR (state = 'claimed' AND lease_until < :now))
    ORDER BY run_after, id LIMIT 1
)
RETURNING id, kind, payload, attempts;

-- name: finish_job
UPDATE job SET state = 'done', worker = NULL, lease_until = NULL, error = NULL WHERE id = :id;

-- name: fail_job
UPDATE job SET state = CASE WHEN attempts >= :most THEN 'dead' ELSE 'waiting' END, worker = NULL, lease_until = NULL,
    error = :error, run_after = :run_after
WHERE id = :id AND state = 'claimed' AND attempts = :attempts;

-- name: doomed_clear
DELETE FROM temp.doomed;

-- name: doomed_by_message
INSERT OR IGNORE INTO temp.doomed SELECT seq FROM message WHERE id = ?;

-- name: doomed_by_session
INSERT OR IGNORE INTO temp.doomed SELECT seq FROM message WHERE session = ?;

-- name: doomed_by_speaker
INSERT OR IGNORE INTO temp.doomed SELECT seq FROM message WHERE speaker = ?;

-- name: doomed_by_time
INSERT OR IGNORE INTO temp.doomed SELECT seq FROM message WHERE at >= :start AND at < :end;

-- name: doomed_by_entity
INSERT OR IGNORE INTO temp.doomed
SELECT s.message FROM mention m JOIN source s ON s.item = m.item
WHERE m.entity IN (SELECT value FROM json_each(:entities));

-- name: surfaces_of
SELECT DISTINCT surface FROM mention WHERE entity IN (SELECT value FROM json_each(:entities));

-- name: doomed_by_name
INSERT OR IGNORE INTO temp.doomed
SELECT m.seq FROM source s JOIN message m ON m.seq = s.message
WHERE s.item IN (SELECT rowid FROM item_fts WHERE item_fts MATCH :phrase)
  AND (instr(m.text, :name) OR instr(m.captions, :name));

-- name: entities_named
SELECT id FROM entity WHERE id IN (SELECT value FROM json_each(:names)) OR name IN (SELECT value FROM json_each(:names))
UNION
SELECT entity FROM mention WHERE surface IN (SELECT value FROM json_each(:names));

-- name: doomed_messages
SELECT id, text, captions FROM message WHERE seq IN (SELECT seq FROM temp.doomed) ORDER BY seq;

-- name: doomed_items
WITH RECURSIVE gone (item) AS (
    SELECT item FROM source WHERE message IN (SELECT seq FROM temp.doomed)
    UNION
    SELECT d.item FROM derivation d JOIN gone ON d.origin = gone.item
)
SELECT item FROM gone;

-- name: orphans
SELECT DISTINCT m.id FROM source s JOIN message m ON m.seq = s.message
JOIN item i ON i.seq = s.item
WHERE i.kind = 'turn' AND s.item IN (SELECT value FROM json_each(:items))
  AND m.seq NOT IN (SELECT seq FROM temp.doomed);

-- name: count_links_of
SELECT count(*) FROM link
WHERE source IN (SELECT value FROM json_each(:items)) OR target IN (SELECT value FROM json_each(:items));

-- name: count_mentions_of
SELECT count(*) FROM mention WHERE item IN (SELECT value FROM json_each(:items));

-- name: delete_jobs
DELETE FROM job WHERE id IN (SELECT job FROM job_message WHERE message IN (SELECT seq FROM temp.doomed));

-- name: delete_items
DELETE FROM item WHERE seq IN (SELECT value FROM json_each(:items));

-- name: delete_messages
DELETE FROM message WHERE seq IN (SELECT seq FROM temp.doomed);

-- name: delete_empty_sessions
DELETE FROM session WHERE NOT EXISTS (SELECT 1 FROM message WHERE message.session = session.id);

-- name: entities_of
SELECT DISTINCT entity FROM mention WHERE item IN (SELECT value FROM json_each(:items));

-- name: delete_unmentioned_entities
DELETE FROM entity WHERE id IN (SELECT value FROM json_each(:entities))
  AND NOT EXISTS (SELECT 1 FROM mention WHERE mention.entity = entity.id);

-- name: delete_unheard_merges
DELETE FROM entity_merge WHERE surface NOT IN (SELECT surface FROM mention);

-- name: retell_entities
UPDATE entity SET
    name = CASE
        WHEN EXISTS (SELECT 1 FROM mention m WHERE m.entity = entity.id AND m.surface = entity.name) THEN name
        ELSE (SELECT m.surface FROM mention m WHERE m.entity = entity.id ORDER BY m.item LIMIT 1) END,
    first_seen = (SELECT min(i.mentioned) FROM mention m JOIN item i ON i.seq = m.item WHERE m.entity = entity.id),
    last_seen = (SELECT max(i.mentioned) FROM mention m JOIN item i ON i.seq = m.item WHERE m.entity = entity.id)
WHERE id IN (SELECT value FROM json_each(:entities));

-- name: restart_sessions
UPDATE session SET (started, started_offset) = (
    SELECT m.at, m.at_offset FROM message m
    WHERE m.session = session.id AND m.seq NOT IN (SELECT seq FROM temp.doomed) ORDER BY m.at, m.seq LIMIT 1
)
WHERE EXISTS (
    SELECT 1 FROM message m WHERE m.seq IN (SELECT seq FROM temp.doomed) AND m.session = session.id AND m.at = started
) AND EXISTS (SELECT 1 FROM message m WHERE m.session = session.id AND m.seq NOT IN (SELECT seq FROM temp.doomed));

-- name: purge_words
INSERT INTO item_fts (item_fts) VALUES ('optimize');

-- name: survives
SELECT EXISTS (SELECT 1 FROM message
               WHERE instr(lower(text), lower(:piece)) OR instr(lower(captions), lower(:piece))
                  OR instr(lower(speaker), lower(:piece)) OR instr(id, :piece))
    OR EXISTS (SELECT 1 FROM item WHERE instr(lower(text), lower(:piece)) OR instr(id, :piece))
    OR EXISTS (SELECT 1 FROM mention WHERE instr(lower(surface), lower(:piece)))
    OR EXISTS (SELECT 1 FROM session WHERE instr(lower(id), lower(:piece)))
    OR EXISTS (SELECT 1 FROM setting WHERE instr(value, :piece))
    OR EXISTS (SELECT 1 FROM sqlite_schema WHERE instr(sql, :piece));

-- name: messages_from
SELECT seq, id, session, position, speaker, role, text, captions, at, at_offset, recorded
FROM message WHERE seq > :after ORDER BY seq LIMIT :count;

-- name: indexing_from
SELECT item, vector, terms, asks FROM indexing WHERE item > :after ORDER BY item LIMIT :count;

-- name: mentions_from
SELECT m.item, m.entity, i.id, m.surface FROM mention m JOIN item i ON i.seq = m.item
WHERE m.item IN (SELECT DISTINCT item FROM mention WHERE item > :after ORDER BY item LIMIT :count)
ORDER BY m.item, m.entity, m.surface;

-- name: links_from
SELECT k.source, s.id, t.id, k.kind, k.weight, k.label
FROM link k JOIN item s ON s.seq = k.source JOIN item t ON t.seq = k.target
WHERE k.source IN (SELECT DISTINCT source FROM link WHERE source > :after ORDER BY source LIMIT :count)
ORDER BY k.source, k.target, k.kind, k.label;
