-- How long a job may be put off, and how often in a row it has failed, whether that used up an attempt or not.
ALTER TABLE job ADD COLUMN first_due INTEGER NOT NULL DEFAULT 0;  -- when it would have run, had nothing been added to it
ALTER TABLE job ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
UPDATE job SET first_due = due;
