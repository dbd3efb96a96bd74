-- What kind of its kind an item is, and which messages were pinned.
ALTER TABLE item ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN important INTEGER NOT NULL DEFAULT 0;
