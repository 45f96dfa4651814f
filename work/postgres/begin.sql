-- Begins attempts: numbers and marks, in one autocommit statement whose answer is
-- small, so that a process frozen by its kernel holds no lock: the server commits
-- without it, and no payload waits in its socket before that. $1 works, $2 lane, $3 workflow,
-- $4 window length, $5 guard, $6 until an attempt is surely over, $7 leave lost
-- attempts alone. Answers one row per work that this workflow carries.
WITH carried AS MATERIALIZED (
    SELECT w.id, w.flow, w.stream, w.deadline, w.idempotency_key, w.state, w.lane,
           w.slot_start, w.admission, w.enforced, w.number, w.attempts,
           w.attempt_begun_at, w.attempt_expires_at
      FROM adjourn.work AS w
     WHERE w.id = ANY($1::BIGINT[])
       -- Carried is admitted or attempting: work_pending_is_free. To name the states
       -- would let a plan made while little was in flight walk all that is.
       AND w.lane = $2::TEXT
       AND w.workflow_id = $3::TEXT
    -- Works first, by id, the streams' rows after: everyone in this order.
     ORDER BY w.id
       FOR UPDATE
), instant AS MATERIALIZED (
    -- Read once the works are held: a window that ended during the wait is over.
    SELECT clock_timestamp() AS now FROM (SELECT count(*) FROM carried) AS held
), judged AS MATERIALIZED (
    SELECT c.*,
           CASE WHEN c.lane = 'governed' THEN c.slot_start + $4::INTERVAL - i.now END AS slot_left,
           CASE
               WHEN c.state = 'admitted' AND c.lane = 'governed'
                    AND c.slot_start + $4::INTERVAL - i.now < $5::INTERVAL THEN 'refused'
               WHEN c.state = 'admitted' THEN 'begun'
               -- The slot of a lost governed attempt is spent: it needs another.
               WHEN c.lane = 'governed' OR $7::BOOLEAN OR c.attempt_expires_at > i.now THEN 'busy'
               ELSE 'begun'
           END AS fate
      FROM carried AS c, instant AS i
), lost AS (
    INSERT INTO adjourn.work_attempt (
           work_id, attempt, flow, lane, slot_start, admission, enforced, stream, number,
           begun_at, ended_at, outcome, spent, detail)
    SELECT j.id, j.attempts, j.flow, j.lane, j.slot_start, j.admission, j.enforced, j.stream,
           j.number, j.attempt_begun_at, i.now, 'spent', TRUE, 'attempt_lost'
      FROM judged AS j, instant AS i
     WHERE j.fate = 'begun' AND j.state = 'attempting'
    -- Whoever noted this very attempt before knew more.
    ON CONFLICT (work_id, attempt) DO NOTHING
), unnumbered AS MATERIALIZED (
    SELECT j.id, j.stream,
           row_number() OVER (PARTITION BY j.stream ORDER BY j.deadline ASC NULLS LAST, j.id) AS rank,
           count(*) OVER (PARTITION BY j.stream) AS works
      FROM judged AS j
     WHERE j.fate = 'begun' AND j.number IS NULL
), allocated AS (
    INSERT INTO adjourn.sequence AS s (stream, last)
    SELECT DISTINCT u.stream, u.works FROM unnumbered AS u ORDER BY u.stream
    -- The row lock of the stream: numbers are handed out one statement at a time
    -- and go back if this statement fails, so that no gap remains.
    ON CONFLICT (stream) DO UPDATE SET last = s.last + EXCLUDED.last
    RETURNING s.stream, s.last
), begun AS (
    UPDATE adjourn.work AS w
       SET state              = 'attempting',
           number             = coalesce(w.number, n.number),
           attempts           = w.attempts + 1,
           attempt_begun_at   = i.now,
           attempt_expires_at = i.now + $6::INTERVAL,
           changed_at         = i.now
      FROM instant AS i, judged AS j
      LEFT JOIN (SELECT u.id, a.last - u.works + u.rank AS number
                   FROM unnumbered AS u
                   JOIN allocated AS a ON a.stream = u.stream) AS n ON n.id = j.id
     WHERE w.id = j.id AND j.fate = 'begun'
    RETURNING w.id, w.number, w.attempts
), refused AS (
    UPDATE adjourn.work AS w
       SET state = 'pending', lane = NULL, workflow_id = NULL, carried_since = NULL,
           slot_start = NULL, admission = NULL, enforced = NULL,
           outcome = 'deferred', reason = 'slot_expired', detail = NULL, changed_at = i.now
      FROM judged AS j, instant AS i
     WHERE w.id = j.id AND j.fate = 'refused'
)
SELECT j.id, j.fate, j.flow, j.deadline, j.stream, j.idempotency_key,
       coalesce(b.number, j.number, 0) AS number, coalesce(b.attempts, j.attempts) AS attempts,
       i.now, j.slot_left, j.slot_start + $4::INTERVAL AS window_end, j.attempt_expires_at
  FROM judged AS j
 CROSS JOIN instant AS i
  LEFT JOIN begun AS b ON b.id = j.id
 ORDER BY j.deadline ASC NULLS LAST, j.id
