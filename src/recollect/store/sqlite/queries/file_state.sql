-- name: mark_backup
UPDATE file_state SET backup_of = ?, in_use = 0;

-- name: backup_name
SELECT backup_of FROM file_state;

-- name: has_file_state
SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'file_state');

-- name: backup_counts
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM item);

-- name: messages_without_items
SELECT id, session, position, speaker, role, text, captions, at, at_offset, recorded, important FROM message
WHERE seq > (SELECT checked FROM file_state) AND NOT EXISTS (SELECT 1 FROM source WHERE source.message = message.seq)
ORDER BY seq LIMIT :limit;

-- name: newest_message
SELECT coalesce(max(seq), 0), (SELECT checked FROM file_state) FROM message;

-- name: set_checked
UPDATE file_state SET checked = max(checked, ?);

-- name: write_marks
SELECT id, (SELECT version FROM state), in_use, losses FROM file_state;

-- name: mark_in_use
UPDATE file_state SET in_use = 1 WHERE in_use = 0;

-- name: mark_closed
UPDATE file_state SET in_use = 0;

-- name: set_losses
UPDATE file_state SET losses = ?;
