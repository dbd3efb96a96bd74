-- name: messages_from
SELECT seq, id, session, position, speaker, role, text, captions, at, at_offset, recorded, important
FROM message WHERE seq > :after ORDER BY seq LIMIT :count;

-- name: indexing_from
SELECT item, vector, terms, asks FROM indexing WHERE item > :after ORDER BY item LIMIT :count;

-- name: mentions_from
SELECT m.item, m.entity, i.id, m.surface FROM mention m JOIN item i ON i.seq = m.item
WHERE m.item IN (SELECT DISTINCT item FROM mention WHERE item > :after ORDER BY item LIMIT :count)
ORDER BY m.item, m.entity, m.surface;

-- name: supersessions_from
SELECT i.seq, i.id, b.id, i.superseded FROM item i JOIN item b ON b.seq = i.superseded_by
WHERE i.seq > :after ORDER BY i.seq LIMIT :count;

-- name: settings
SELECT key, value FROM setting ORDER BY key;

-- name: links_from
SELECT k.source, s.id, t.id, k.kind, k.weight, k.label
FROM link k JOIN item s ON s.seq = k.source JOIN item t ON t.seq = k.target
WHERE k.source IN (SELECT DISTINCT source FROM link WHERE source > :after ORDER BY source LIMIT :count)
ORDER BY k.source, k.target, k.kind, k.label;

-- name: holds_anything
SELECT EXISTS (SELECT 1 FROM message) OR EXISTS (SELECT 1 FROM item);

-- name: tables_with_rows
-- The tables of an attached bank that store rows of their own, with their columns. Computed columns are left out, and
-- so are the tables that SQLite makes for a search by words.
SELECT t.name, (SELECT group_concat('"' || c.name || '"') FROM pragma_table_info(t.name) c) FROM pragma_table_list t
WHERE t.schema = 'attached' AND t.type = 'table' AND t.name NOT GLOB 'sqlite_*';

-- name: pass_version
UPDATE main.state SET version = max(version, (SELECT version FROM attached.state));
