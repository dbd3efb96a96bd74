-- name: mark_backup
UPDATE file_state SET backup_of = ?;

-- name: backup_name
SELECT backup_of FROM file_state;

-- name: has_file_state
SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'file_state');

-- name: backup_counts
SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM item);
