-- What the file knows of itself. Copies of the file have the same id. A backup has the name of its bank.
CREATE TABLE file_state (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    id        TEXT NOT NULL,
    backup_of TEXT NOT NULL
) STRICT;
INSERT INTO file_state VALUES (1, lower(hex(randomblob(16))), '');
