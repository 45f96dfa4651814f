-- Ends attempts whose process never recorded how they ended, once they are surely
-- over. The third party may have seen them, so their slots are spent. $1 exempt
-- flows that are never attempted twice; $2 base and $3 longest back-off in
-- seconds; $4 limit.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), lost AS MATERIALIZED (
    SELECT w.id, w.flow, w.lane, w.slot_start, w.admission, w.enforced, w.stream, w.number,
           w.attempts, w.attempt_begun_at,
           CASE
               WHEN w.lane = 'governed' THEN 'pending'  -- it needs another slot
               WHEN w.lane = 'exempt' AND w.flow = ANY($1::TEXT[]) THEN 'failed'
               ELSE 'admitted'  -- its workflow goes on, or is started again
           END AS next
      FROM adjourn.work AS w
     WHERE w.state = 'attempting'
       AND w.attempt_expires_at <= (SELECT i.now FROM instant AS i)
     ORDER BY w.attempt_expires_at
     LIMIT $4::INTEGER
    -- A work that somebody holds is being recorded, late, or begun again.
       FOR UPDATE SKIP LOCKED
), noted AS (
    INSERT INTO adjourn.work_attempt (
           work_id, attempt, flow, lane, slot_start, admission, enforced, stream, number,
           begun_at, ended_at, outcome, spent, detail)
    SELECT l.id, l.attempts, l.flow, l.lane, l.slot_start, l.admission, l.enforced, l.stream,
           l.number, l.attempt_begun_at, i.now, 'spent', TRUE, 'attempt_lost'
      FROM lost AS l, instant AS i
    -- Whoever noted this very attempt before knew more.
    ON CONFLICT (work_id, attempt) DO NOTHING
)
UPDATE adjourn.work AS w
   SET state              = l.next,
       lane               = CASE WHEN l.next = 'admitted' THEN w.lane END,
       workflow_id        = CASE WHEN l.next = 'admitted' THEN w.workflow_id END,
       carried_since      = CASE WHEN l.next = 'admitted' THEN w.carried_since END,
       slot_start         = NULL,
       admission          = NULL,
       enforced           = NULL,
       attempt_expires_at = NULL,
       -- work.Backoff with full jitter; in floating point, which no number of
       -- attempts overflows.
       not_before         = CASE WHEN l.next = 'pending' THEN
           i.now + make_interval(secs => random() * LEAST(
               $3::DOUBLE PRECISION,
               $2::DOUBLE PRECISION * power(2, LEAST(GREATEST(l.attempts, 1) - 1, 100)))) END,
       outcome            = CASE WHEN l.next = 'failed' THEN 'failed' ELSE 'spent' END,
       reason             = 'attempt_lost',
       detail             = NULL,
       changed_at         = i.now
  FROM lost AS l, instant AS i
 WHERE w.id = l.id AND w.id = ANY(ARRAY(SELECT a.id FROM lost AS a))
RETURNING w.id
