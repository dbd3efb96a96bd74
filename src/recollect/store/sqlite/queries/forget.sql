-- name: doomed_clear
DELETE FROM temp.doomed;

-- name: doomed_items_clear
-- Items that quote what is forgotten, although they were derived from other messages.
DELETE FROM temp.doomed_item;

-- name: doomed_item
INSERT OR IGNORE INTO temp.doomed_item VALUES (?);

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

-- name: doomed_by_number
INSERT OR IGNORE INTO temp.doomed VALUES (?);

-- name: message_texts
SELECT seq, CAST(text AS BLOB), CAST(captions AS BLOB) FROM message;

-- name: speakers_of_messages
SELECT DISTINCT speaker FROM message;

-- name: possible_by_speaker
INSERT OR IGNORE INTO temp.possible SELECT seq FROM message WHERE speaker = ?;

-- name: possible_by_session
INSERT OR IGNORE INTO temp.possible SELECT seq FROM message WHERE session = ?;

-- name: possible_clear
-- Messages that only might be meant. They stay.
DELETE FROM temp.possible;

-- name: possible_by_number
INSERT OR IGNORE INTO temp.possible VALUES (?);

-- name: possible_messages
SELECT id FROM message WHERE seq IN (SELECT seq FROM temp.possible) AND seq NOT IN (SELECT seq FROM temp.doomed)
ORDER BY seq;

-- name: session_names
SELECT id FROM session;

-- name: spellings
SELECT id, name FROM entity UNION SELECT entity, surface FROM mention;

-- name: given_fact_texts
SELECT i.seq, CAST(i.text || ' | ' || t.subject || ' | ' || t.object AS BLOB) FROM item i JOIN triple t ON t.item = i.seq
WHERE i.id GLOB 'given:*' AND NOT EXISTS (SELECT 1 FROM source WHERE source.item = i.seq);

-- name: doomed_fact_by_number
INSERT OR IGNORE INTO temp.doomed_fact VALUES (?);

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

-- name: doomed_fact_texts
SELECT i.text, t.subject, t.predicate, t.object FROM temp.doomed_fact d JOIN item i ON i.seq = d.item
JOIN triple t ON t.item = d.item;

-- name: doomed_messages
-- Texts are read as bytes, because bytes that were damaged need not be text any more.
SELECT id, CAST(text AS BLOB), CAST(captions AS BLOB) FROM message
WHERE seq IN (SELECT seq FROM temp.doomed) ORDER BY seq;

-- name: doomed_derived_texts
-- The texts that were derived from nothing but forgotten messages.
SELECT CAST(text AS BLOB) FROM item
WHERE seq IN (SELECT value FROM json_each(:items)) AND kind NOT IN ('turn', 'segment')
  AND EXISTS (SELECT 1 FROM source WHERE source.item = item.seq)
  AND NOT EXISTS (
      SELECT 1 FROM source WHERE source.item = item.seq AND source.message NOT IN (SELECT seq FROM temp.doomed)
  );

-- name: remaining_texts
-- What people said or gave, and what stays. It is no leak if a forgotten message had the same words.
SELECT CAST(speaker || ': ' || text AS BLOB), CAST(captions AS BLOB) FROM message
WHERE seq NOT IN (SELECT seq FROM temp.doomed);

-- name: remaining_names
SELECT id FROM message WHERE seq NOT IN (SELECT seq FROM temp.doomed)
UNION ALL
SELECT DISTINCT session FROM message WHERE seq NOT IN (SELECT seq FROM temp.doomed)
UNION ALL
SELECT CAST(i.text || ' | ' || t.subject || ' | ' || t.predicate || ' | ' || t.object AS BLOB)
FROM item i JOIN triple t ON t.item = i.seq
WHERE i.id GLOB 'given:*' AND i.seq NOT IN (SELECT item FROM temp.doomed_fact)
  AND NOT EXISTS (SELECT 1 FROM source WHERE source.item = i.seq AND source.message IN (SELECT seq FROM temp.doomed));

-- name: derived_texts
SELECT i.seq, CAST(i.text || ' | ' || i.label AS BLOB),
       CAST((SELECT t.subject || ' | ' || t.predicate || ' | ' || t.object FROM triple t WHERE t.item = i.seq) AS BLOB),
       CAST((SELECT group_concat(o.words, ' | ') FROM occurrence o WHERE o.item = i.seq) AS BLOB)
FROM item i WHERE i.kind NOT IN ('turn', 'segment') AND NOT i.id GLOB 'given:*'
  AND i.seq NOT IN (SELECT value FROM json_each(:items));

-- name: link_labels
SELECT DISTINCT label, CAST(label AS BLOB) FROM link WHERE label <> ''
  AND source NOT IN (SELECT value FROM json_each(:items)) AND target NOT IN (SELECT value FROM json_each(:items));

-- name: surfaces
SELECT DISTINCT surface, CAST(surface AS BLOB) FROM mention WHERE item NOT IN (SELECT value FROM json_each(:items));

-- name: entity_names
SELECT DISTINCT e.id, CAST(e.name AS BLOB) FROM mention m JOIN entity e ON e.id = m.entity
WHERE m.item NOT IN (SELECT value FROM json_each(:items));

-- name: job_texts
SELECT id, CAST(id || ' | ' || payload AS BLOB) FROM job;

-- name: setting_texts
SELECT key, CAST(value AS BLOB) FROM setting WHERE key NOT IN ('embedder', 'dimension');

-- name: delete_setting
DELETE FROM setting WHERE key = ?;

-- name: doomed_item_names
SELECT id, kind FROM item WHERE seq IN (SELECT item FROM temp.doomed_item) ORDER BY seq;

-- name: delete_labelled_links
DELETE FROM link WHERE label = ?;

-- name: entities_of_surface
SELECT DISTINCT entity FROM mention
WHERE surface = :surface AND item NOT IN (SELECT value FROM json_each(:items));

-- name: delete_surface
DELETE FROM mention WHERE surface = :surface AND item NOT IN (SELECT value FROM json_each(:items));

-- name: running_jobs
SELECT id FROM job WHERE state = 'running';

-- name: text_columns
-- The columns that hold text, of every table. Other tables are parts of the full-text index.
SELECT l.name, c.name FROM pragma_table_list AS l JOIN pragma_table_info(l.name) AS c
WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite%' AND c.type IN ('TEXT', 'ANY', '')
ORDER BY l.name, c.cid;

-- name: doomed_items
WITH RECURSIVE gone (item) AS (
    SELECT item FROM source WHERE message IN (SELECT seq FROM temp.doomed)
    UNION
    SELECT item FROM temp.doomed_fact
    UNION
    SELECT item FROM temp.doomed_item
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

-- name: count_doomed_sessions
SELECT count(*) FROM session WHERE EXISTS (
    SELECT 1 FROM message WHERE message.session = session.id AND seq IN (SELECT seq FROM temp.doomed)
) AND NOT EXISTS (
    SELECT 1 FROM message WHERE message.session = session.id AND seq NOT IN (SELECT seq FROM temp.doomed)
);

-- name: count_doomed_entities
SELECT count(*) FROM entity WHERE EXISTS (
    SELECT 1 FROM mention WHERE mention.entity = entity.id AND item IN (SELECT value FROM json_each(:items))
) AND NOT EXISTS (
    SELECT 1 FROM mention WHERE mention.entity = entity.id AND item NOT IN (SELECT value FROM json_each(:items))
);

-- name: cut_short_jobs
SELECT DISTINCT job FROM job_message WHERE message IN (SELECT seq FROM temp.doomed);

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
