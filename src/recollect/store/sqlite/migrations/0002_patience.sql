-- first_due limits the delay of a job by additions. failures counts the failures in a row, including those that used up
-- no attempt.
ALTER TABLE job ADD COLUMN first_due INTEGER NOT NULL DEFAULT 0;  -- when it would have run without additions
ALTER TABLE job ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
UPDATE job SET first_due = due;
