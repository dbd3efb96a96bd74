-- in_use is 1 from the first write after the bank was opened until it is closed. Before a write is acknowledged, the 1
-- is in the file itself and not only in the log. So a copy of the file without its log can be told.
ALTER TABLE file_state ADD COLUMN in_use INTEGER NOT NULL DEFAULT 0;
-- What is known to be missing, in words: one loss a line.
ALTER TABLE file_state ADD COLUMN losses TEXT NOT NULL DEFAULT '';
