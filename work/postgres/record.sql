-- Records how attempts ended, all in one autocommit statement. $1 lane; $2 works,
-- $3 attempts, $4 outcomes, $5 reasons, $6 details, $7 statuses, $8 references,
-- $9 answers and $10 back-offs in seconds, side by side. Answers the works whose
-- ending is on record now.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), ending AS MATERIALIZED (
    -- An attempt ends once; told twice, an acceptance counts.
    SELECT DISTINCT ON (e.id, e.attempt) e.*
      FROM unnest($2::BIGINT[], $3::INTEGER[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::INTEGER[],
                  $8::TEXT[], $9::TEXT[], $10::DOUBLE PRECISION[])
           AS e (id, attempt, outcome, reason, detail, status, reference, answer, retry_in)
     ORDER BY e.id, e.attempt, e.outcome = 'emitted' DESC
), held AS MATERIALIZED (
    SELECT w.id, w.flow, w.stream, w.deadline, w.idempotency_key, w.workflow_id, w.slot_start,
           w.admission, w.enforced, w.number, w.attempts, w.attempt_begun_at, w.created_at,
           -- A call ends before its attempt is surely over, however late it is recorded.
           w.deadline < LEAST(i.now, w.attempt_expires_at) AS late,
           e.outcome, e.reason, e.detail, e.status, e.reference, e.answer,
           CASE
               WHEN e.outcome = 'failed' THEN 'failed'
               WHEN e.outcome = 'unsent' THEN 'admitted'  -- the slot is kept
               WHEN $1::TEXT = 'governed' THEN 'pending'  -- the slot is spent
               ELSE 'admitted'                            -- Temporal retries this lane
           END AS next,
           CASE WHEN e.outcome = 'spent' AND $1::TEXT = 'governed' AND e.retry_in > 0
                THEN i.now + make_interval(secs => e.retry_in) END AS not_before
      FROM ending AS e
      JOIN adjourn.work AS w ON w.id = e.id
     CROSS JOIN instant AS i
     -- The fence: a newer attempt has begun, or somebody else gave this one up.
     -- An acceptance counts all the same as long as no newer attempt has begun:
     -- the third party has the work.
     WHERE w.attempts = e.attempt
       AND (w.state = 'attempting' AND w.lane = $1::TEXT OR e.outcome = 'emitted')
     ORDER BY w.id
       FOR UPDATE OF w
), noted AS (
    INSERT INTO adjourn.work_attempt AS a (
           work_id, attempt, flow, lane, slot_start, admission, enforced, stream, number,
           begun_at, ended_at, outcome, spent, status, reference, answer, detail)
    SELECT h.id, h.attempts, h.flow, $1::TEXT, h.slot_start, h.admission, h.enforced, h.stream,
           h.number, h.attempt_begun_at, i.now, h.outcome, h.outcome <> 'unsent',
           h.status, h.reference, h.answer, h.detail
      FROM held AS h, instant AS i
    -- A recovery took this attempt for lost; now it is known how it ended. In
    -- which window it was made stays as it was noted.
    ON CONFLICT (work_id, attempt) DO UPDATE
       SET ended_at = EXCLUDED.ended_at, outcome = EXCLUDED.outcome, spent = EXCLUDED.spent,
           status = EXCLUDED.status, reference = EXCLUDED.reference, answer = EXCLUDED.answer,
           detail = EXCLUDED.detail
    RETURNING a.work_id, a.slot_start, a.admission, a.enforced
), archived AS (
    INSERT INTO adjourn.work_archive (
           id, flow, stream, deadline, idempotency_key, state, lane, workflow_id, slot_start,
           admission, enforced, number, attempts, outcome, reason, detail,
           status, reference, answer, late, created_at, finished_at)
    SELECT h.id, h.flow, h.stream, h.deadline, h.idempotency_key, 'emitted', $1::TEXT, h.workflow_id,
           n.slot_start, n.admission, n.enforced, h.number, h.attempts, 'emitted', NULL, NULL,
           h.status, h.reference, h.answer, coalesce(h.late, FALSE), h.created_at, i.now
      FROM held AS h
      JOIN noted AS n ON n.work_id = h.id
     CROSS JOIN instant AS i
     WHERE h.outcome = 'emitted'
), gone AS (
    DELETE FROM adjourn.work AS w
     USING held AS h
     WHERE w.id = h.id AND h.outcome = 'emitted'
), settled AS (
    UPDATE adjourn.work AS w
       SET state              = h.next,
           lane               = CASE WHEN h.next = 'admitted' THEN w.lane END,
           workflow_id        = CASE WHEN h.next = 'admitted' THEN w.workflow_id END,
           carried_since      = CASE WHEN h.next = 'admitted' THEN i.now END,
           slot_start         = CASE WHEN h.next = 'admitted' THEN w.slot_start END,
           admission          = CASE WHEN h.next = 'admitted' THEN w.admission END,
           enforced           = CASE WHEN h.next = 'admitted' THEN w.enforced END,
           attempt_expires_at = NULL,
           not_before         = h.not_before,
           outcome            = h.outcome,
           reason             = h.reason,
           detail             = h.detail,
           changed_at         = i.now
      FROM held AS h, instant AS i
     WHERE w.id = h.id AND h.outcome <> 'emitted'
)
SELECT h.id FROM held AS h
UNION
-- A repeat of a record whose answer was lost on its way.
SELECT e.id
  FROM ending AS e
 WHERE (SELECT a.outcome = e.outcome
               AND (a.status, a.reference, a.detail)
                   IS NOT DISTINCT FROM (e.status, e.reference, e.detail)
          FROM adjourn.work_attempt AS a
         WHERE a.work_id = e.id AND a.attempt = e.attempt)
 ORDER BY id
