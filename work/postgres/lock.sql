-- Locks works that may be admitted, in dispatch order, and returns those that
-- still can be. $1 ids.
SELECT w.id
  FROM adjourn.work AS w
 WHERE w.id = ANY($1::BIGINT[])
   AND w.state = 'pending'
   AND (w.not_before IS NULL OR w.not_before <= clock_timestamp())
 ORDER BY w.deadline ASC NULLS LAST, w.id
-- A work that somebody else holds is on its way already, or being cancelled:
-- never worth a wait, and not waiting is what keeps this free of deadlocks.
   FOR UPDATE OF w SKIP LOCKED
