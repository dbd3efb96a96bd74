-- Every write asks why failed jobs wait. The index answers this without reading the whole queue.
ALTER TABLE job ADD COLUMN error_kind TEXT AS (substr(error, 1, instr(error, ': ') - 1)) VIRTUAL;
CREATE INDEX job_put_off ON job (error_kind, due) WHERE state = 'waiting' AND error_kind IS NOT NULL;
