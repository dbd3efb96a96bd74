-- name: bump_version
UPDATE state SET version = version + 1, author = ? RETURNING version;

-- name: bump_epoch
UPDATE state SET version = version + 1, epoch = epoch + 1, author = '';

-- name: set_setting
INSERT INTO setting (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: add_session
INSERT INTO session (id, started, started_offset) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET started = excluded.started, started_offset = excluded.started_offset
WHERE excluded.started < session.started;

-- name: add_message
INSERT INTO message (id, session, position, speaker, role, text, captions, at, at_offset, recorded, important)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: seq_of_messages
SELECT id, seq FROM message WHERE id IN (SELECT value FROM json_each(?));

-- name: seq_of_items
SELECT id, seq FROM item WHERE id IN (SELECT value FROM json_each(?));

-- name: last_item
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'item'), 0);

-- name: put_item
INSERT INTO item (seq, id, version, kind, text, session, speaker, ord, mentioned, mentioned_offset, recorded, network,
                  confidence, tokens, superseded, label, stages)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    version = excluded.version, text = excluded.text, speaker = excluded.speaker, ord = excluded.ord,
    mentioned = excluded.mentioned, mentioned_offset = excluded.mentioned_offset, recorded = excluded.recorded,
    network = excluded.network, confidence = excluded.confidence, tokens = excluded.tokens, stages = excluded.stages,
    superseded = excluded.superseded, label = excluded.label,
    superseded_by = CASE WHEN excluded.superseded IS NULL THEN NULL ELSE superseded_by END;

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

-- name: supersede
UPDATE item SET superseded = ?, superseded_by = ?, version = ? WHERE seq = ?;

-- name: set_vector
UPDATE indexing SET vector = ? WHERE item = (SELECT seq FROM item WHERE id = ?);
