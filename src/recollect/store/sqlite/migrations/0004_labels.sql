-- label is the subkind of an item. important marks the pinned messages.
ALTER TABLE item ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN important INTEGER NOT NULL DEFAULT 0;
