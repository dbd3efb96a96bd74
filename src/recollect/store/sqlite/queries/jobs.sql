-- name: add_job
-- An addition delays a waiting job, but only up to a limit. If the addition is due at once (0) and the job has not
-- failed, the job is due at once. After an addition, a running job begins to wait for its next run.
INSERT INTO job (id, kind, payload, due, first_due) VALUES (:id, :kind, :payload, :due, :due)
ON CONFLICT (id) DO UPDATE SET
    payload = excluded.payload,
    due = CASE
        WHEN state = 'dead' OR excluded.due = 0 AND error IS NULL THEN excluded.due
        WHEN state = 'waiting' OR again THEN max(due, min(excluded.due, first_due + :longest))
        ELSE max(due, excluded.due) END,
    first_due = CASE WHEN excluded.due <> 0 AND (state = 'waiting' OR again) THEN first_due ELSE excluded.due END,
    attempts = CASE state WHEN 'dead' THEN 0 ELSE attempts END,
    failures = CASE state WHEN 'dead' THEN 0 ELSE failures END,
    error = CASE state WHEN 'dead' THEN NULL ELSE error END,
    reply = CASE state WHEN 'dead' THEN NULL ELSE reply END,
    failed = CASE state WHEN 'dead' THEN NULL ELSE failed END,
    again = state = 'running',
    state = CASE state WHEN 'dead' THEN 'waiting' ELSE state END;

-- name: add_job_message
INSERT INTO job_message (job, message, again) SELECT id, :message, again FROM job WHERE id = :job
ON CONFLICT (job, message) DO UPDATE SET again = max(again, excluded.again);

-- name: vanished_jobs
SELECT id FROM job
WHERE state = 'running' AND (lease_until < :now OR :now < 2 * leased - lease_until) AND attempts >= :most;

-- name: claim_job
-- A job that is claimed before it is due is due from now on, so that it is not delayed again if it is interrupted. The
-- first job of each kind is looked up separately, because an OR of due and later jobs would read the whole queue.
-- A lease is over after its end, or if the clock was set back by more than the lease since it was given or renewed.
UPDATE job SET state = 'running', attempts = attempts + 1, worker = :worker, claim = :claim, leased = :now,
    lease_until = :until, again = 0, due = min(due, :now)
WHERE id = (
    WITH found (id) AS (
        SELECT (SELECT id FROM job WHERE state = 'waiting' AND kind = k.value AND due <= :now ORDER BY due, id LIMIT 1)
        FROM json_each(:kinds) k
        UNION ALL
        SELECT (SELECT id FROM job WHERE state = 'waiting' AND kind = k.value AND due > :now
                  AND (error IS NULL OR attempts = 0 AND failed < :failed_before) ORDER BY due, id LIMIT 1)
        FROM json_each(:kinds) k WHERE :ignore_schedule
        UNION ALL
        SELECT id FROM job
        WHERE state = 'running' AND kind IN (SELECT value FROM json_each(:kinds))
          AND (lease_until < :now OR :now < 2 * leased - lease_until)
    )
    SELECT job.id FROM found JOIN job ON job.id = found.id ORDER BY job.due, job.id LIMIT 1
)
RETURNING id, kind, payload, due, attempts, failures, claim;

-- name: renew_lease
UPDATE job SET leased = :now, lease_until = :until WHERE id = :id AND claim = :claim;

-- name: job_times
-- A running job can be claimed since the end of its lease, and before the moment that only a clock that was set back
-- can show.
SELECT kind, min(since), max(before) FROM (
    SELECT kind, min(due) AS since, NULL AS before FROM job WHERE state = 'waiting' GROUP BY kind
    UNION ALL
    SELECT kind, min(lease_until) + 1, max(2 * leased - lease_until) FROM job WHERE state = 'running' GROUP BY kind
) GROUP BY kind;

-- name: messages_of_job
SELECT m.id FROM job_message j JOIN message m ON m.seq = j.message WHERE j.job = ? ORDER BY m.seq;

-- name: claimed
SELECT again FROM job WHERE id = ? AND claim = ?;

-- name: finish_job
DELETE FROM job WHERE id = ?;

-- name: done_with_messages
DELETE FROM job_message WHERE job = ? AND NOT again;

-- name: keep_messages
UPDATE job_message SET again = 0 WHERE job = ?;

-- name: repeat_job
UPDATE job SET state = 'waiting', attempts = 0, failures = 0, worker = NULL, claim = NULL, lease_until = NULL, again = 0,
    error = NULL, reply = NULL, failed = NULL
WHERE id = ?;

-- name: delay_job
UPDATE job SET state = 'waiting', due = max(due, :retry_at), worker = NULL, claim = NULL, lease_until = NULL, again = 0,
    attempts = attempts - (NOT :counted), failures = failures + (:retry_at > :failed),
    error = :error, reply = :reply, failed = :failed
WHERE id = :id;

-- name: bury_job
UPDATE job SET
    state = CASE again WHEN 1 THEN 'waiting' ELSE 'dead' END,
    attempts = CASE again WHEN 1 THEN 0 ELSE attempts - (NOT :counted) END,
    worker = NULL, claim = NULL, lease_until = NULL, again = 0, error = :error, reply = :reply, failed = :failed
WHERE id = :id;

-- name: jobs
SELECT id, kind, state, attempts, error, reply, failed, due, worker,
       (SELECT json_group_array(id) FROM
        (SELECT m.id FROM job_message j JOIN message m ON m.seq = j.message WHERE j.job = job.id ORDER BY m.seq))
FROM job WHERE state IN (SELECT value FROM json_each(?)) ORDER BY due, id;

-- name: blocked_reasons
WITH first (id) AS (
    SELECT (SELECT id FROM job WHERE state = 'waiting' AND error_kind = k.value AND due > :now ORDER BY due, id LIMIT 1)
    FROM json_each(:kinds) k
)
SELECT job.error FROM first JOIN job ON job.id = first.id ORDER BY job.due, job.id;

-- name: queue
SELECT id, kind, payload, due,
       (SELECT json_group_array(id) FROM
        (SELECT m.id FROM job_message j JOIN message m ON m.seq = j.message WHERE j.job = job.id ORDER BY m.seq))
FROM job ORDER BY due, id;

-- name: retry_job
UPDATE job SET due = 0 WHERE id = ? AND (state <> 'waiting' OR error IS NOT NULL);

-- name: drop_job
DELETE FROM job WHERE id = ?;

-- name: add_to_ledger
INSERT INTO ledger (at, operation, role, model, failed, calls, tokens_in, tokens_out, tokens_cached, seconds)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: spent
SELECT coalesce(sum(calls), 0), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0),
       coalesce(sum(tokens_cached), 0), coalesce(sum(seconds), 0.0)
FROM ledger WHERE (:role IS NULL OR role = :role) AND (:since IS NULL OR at >= :since);

-- name: costs
SELECT operation, role, model, sum(failed), sum(calls), sum(tokens_in), sum(tokens_out), sum(tokens_cached), sum(seconds)
FROM ledger GROUP BY operation, role, model ORDER BY operation, role, model;
