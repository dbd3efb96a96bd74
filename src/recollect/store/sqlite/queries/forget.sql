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
SELECT s.message FROM mention m JOIN item i ON i.seq = m.item JOIN source s ON s.item = m.item
WHERE m.entity IN (SELECT value FROM json_each(:entities)) AND i.kind <> 'episode';

-- name: doomed_by_episode
-- An episode is about many exchanges, and it is removed with any of them. If none of its sources is marked, all of them
-- are marked here, because the name in the episode is then nowhere else.
INSERT OR IGNORE INTO temp.doomed
SELECT s.message FROM mention m JOIN item i ON i.seq = m.item JOIN source s ON s.item = m.item
WHERE m.entity IN (SELECT value FROM json_each(:entities)) AND i.kind = 'episode'
  AND NOT EXISTS (
      SELECT 1 FROM source o JOIN temp.doomed d ON d.seq = o.message
      WHERE o.item = m.item OR o.item IN (SELECT origin FROM derivation WHERE item = m.item)
  );

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

-- name: doomed_facts_clear
-- Facts that users gave are removed with their sources. Facts without sources are selected by themselves.
DELETE FROM temp.doomed_fact;

-- name: doomed_fact_by_id
INSERT OR IGNORE INTO temp.doomed_fact SELECT seq FROM item WHERE id = ? AND id GLOB 'given:*';

-- name: doomed_facts_by_time
INSERT OR IGNORE INTO temp.doomed_fact
SELECT seq FROM item WHERE id GLOB 'given:*' AND mentioned >= :start AND mentioned < :end
  AND NOT EXISTS (SELECT 1 FROM source WHERE source.item = item.seq);

-- name: doomed_facts_by_entity
INSERT OR IGNORE INTO temp.doomed_fact
SELECT i.seq FROM mention m JOIN item i ON i.seq = m.item
WHERE m.entity IN (SELECT value FROM json_each(:entities)) AND i.id GLOB 'given:*'
  AND NOT EXISTS (SELECT 1 FROM source WHERE source.item = i.seq);

-- name: doomed_facts_by_name
INSERT OR IGNORE INTO temp.doomed_fact
SELECT i.seq FROM triple t JOIN item i ON i.seq = t.item
WHERE i.id GLOB 'given:*' AND NOT EXISTS (SELECT 1 FROM source WHERE source.item = i.seq)
  AND ((instr(i.text, :name) AND i.seq IN (SELECT rowid FROM item_fts WHERE item_fts MATCH :phrase))
       OR instr(' ' || t.subject || ' ', ' ' || :name || ' ') OR instr(' ' || t.object || ' ', ' ' || :name || ' '));

-- name: doomed_fact_texts
SELECT i.text, t.subject, t.predicate, t.object FROM temp.doomed_fact d JOIN item i ON i.seq = d.item
JOIN triple t ON t.item = d.item;

-- name: doomed_messages
SELECT id, text, captions FROM message WHERE seq IN (SELECT seq FROM temp.doomed) ORDER BY seq;

-- name: doomed_items
WITH RECURSIVE gone (item) AS (
    SELECT item FROM source WHERE message IN (SELECT seq FROM temp.doomed)
    UNION
    SELECT item FROM temp.doomed_fact
    UNION
    SELECT d.item FROM derivation d JOIN gone ON d.origin = gone.item
)
SELECT item FROM gone;

-- name: split_turns
SELECT DISTINCT i.seq FROM temp.doomed d CROSS JOIN source s ON s.message = d.seq JOIN item i ON i.seq = s.item
WHERE i.kind = 'turn'
  AND EXISTS (SELECT 1 FROM source o WHERE o.item = i.seq AND o.message NOT IN (SELECT seq FROM temp.doomed))
ORDER BY i.seq;

-- name: left_of_items
SELECT DISTINCT m.id, m.session, m.position, m.speaker, m.role, m.text, m.captions, m.at, m.at_offset, m.recorded,
       m.important
FROM source s JOIN message m ON m.seq = s.message
WHERE s.item IN (SELECT value FROM json_each(:items)) AND m.seq NOT IN (SELECT seq FROM temp.doomed)
ORDER BY m.seq;

-- name: left_to_read_again
-- A gist or triple takes at most a name from another session. What was read from that session is still there.
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important FROM message
WHERE seq NOT IN (SELECT seq FROM temp.doomed) AND seq IN (
    SELECT s.message FROM item i JOIN source s ON s.item = i.seq JOIN message m ON m.seq = s.message
    WHERE i.seq IN (SELECT value FROM json_each(:items)) AND i.kind NOT IN ('turn', 'summary')
      AND NOT i.id GLOB 'given:*'  -- a given fact was not read from its sources
      AND (i.kind NOT IN ('gist', 'triple') OR m.session = i.session)
      AND NOT EXISTS (SELECT 1 FROM derivation d JOIN item o ON o.seq = d.origin WHERE d.item = i.seq AND o.kind <> 'turn')
)
ORDER BY seq;

-- name: left_origins
SELECT item, vector, terms, asks FROM indexing WHERE item IN (
    SELECT d.origin FROM derivation d JOIN item o ON o.seq = d.origin
    WHERE d.item IN (SELECT value FROM json_each(:items)) AND o.kind <> 'turn'
) AND item NOT IN (SELECT value FROM json_each(:items))
ORDER BY item;

-- name: grounds_of_opinions
SELECT DISTINCT o.id FROM derivation d JOIN item i ON i.seq = d.item JOIN item o ON o.seq = d.origin
WHERE d.item IN (SELECT value FROM json_each(:items)) AND i.kind = 'opinion';

-- name: count_links_of
SELECT count(*) FROM link
WHERE source IN (SELECT value FROM json_each(:items)) OR target IN (SELECT value FROM json_each(:items));

-- name: count_mentions_of
SELECT count(*) FROM mention WHERE item IN (SELECT value FROM json_each(:items));

-- name: cut_short_jobs
SELECT j.id, j.payload, m.text, m.captions
FROM job j JOIN job_message n ON n.job = j.id JOIN message m ON m.seq = n.message
WHERE m.seq IN (SELECT seq FROM temp.doomed) ORDER BY j.id;

-- name: cut_jobs
DELETE FROM job_message WHERE message IN (SELECT seq FROM temp.doomed);

-- name: has_messages
SELECT EXISTS (SELECT 1 FROM job_message WHERE job = ?);

-- name: mute_jobs
UPDATE job SET reply = NULL, error = :error WHERE error IS NOT NULL OR reply IS NOT NULL;

-- name: succeed_items
-- An item that was superseded by a doomed item is now superseded by that item's own successor, or it is valid again.
WITH RECURSIVE gone (seq) AS (SELECT value FROM json_each(:items)),
heir (item, superseded, seq) AS (
    SELECT seq, superseded, superseded_by FROM item WHERE superseded_by IN gone AND seq NOT IN gone
    UNION
    SELECT heir.item, i.superseded, i.superseded_by FROM heir JOIN item i ON i.seq = heir.seq WHERE heir.seq IN gone
)
UPDATE item SET superseded = heir.superseded, superseded_by = heir.seq FROM heir
WHERE heir.item = item.seq AND (heir.seq IS NULL OR heir.seq NOT IN gone);

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

-- name: owe_scrub
UPDATE state SET forgotten = forgotten + 1;

-- name: forgotten
SELECT forgotten FROM state;

-- name: owes_scrub
SELECT forgotten > scrubbed FROM state;

-- name: scrubbed
UPDATE state SET scrubbed = max(scrubbed, ?);

-- name: purge_words
INSERT INTO item_fts (item_fts) VALUES ('optimize');

-- name: survives
SELECT EXISTS (SELECT 1 FROM message
               WHERE instr(lower(text), lower(:piece)) OR instr(lower(captions), lower(:piece))
                  OR instr(lower(speaker), lower(:piece)) OR instr(id, :piece))
    OR EXISTS (SELECT 1 FROM item WHERE instr(lower(text), lower(:piece)) OR instr(id, :piece)
                  OR instr(lower(label), lower(:piece)))
    OR EXISTS (SELECT 1 FROM triple WHERE instr(lower(subject), lower(:piece)) OR instr(lower(predicate), lower(:piece))
                  OR instr(lower(object), lower(:piece)))
    OR EXISTS (SELECT 1 FROM mention WHERE instr(lower(surface), lower(:piece)))
    OR EXISTS (SELECT 1 FROM session WHERE instr(lower(id), lower(:piece)))
    OR EXISTS (SELECT 1 FROM setting WHERE instr(value, :piece))
    OR EXISTS (SELECT 1 FROM sqlite_schema WHERE instr(sql, :piece));
