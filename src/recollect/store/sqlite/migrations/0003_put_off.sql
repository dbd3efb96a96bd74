-- What failed jobs wait for is asked with every write: found without reading the queue.
ALTER TABLE job ADD COLUMN error_kind TEXT AS (substr(error, 1, instr(error, ': ') - 1)) VIRTUAL;
CREATE INDEX job_put_off ON job (error_kind, due) WHERE state = 'waiting' AND error_kind IS NOT NULL;
