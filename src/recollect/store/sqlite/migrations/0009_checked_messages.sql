-- Every message up to this number was checked once: an item was derived from it.
ALTER TABLE file_state ADD COLUMN checked INTEGER NOT NULL DEFAULT 0;
