-- Locks works that may be admitted, in dispatch order, and returns those that
-- still can be. $1 ids in that order.
SELECT w.id
  FROM unnest($1::BIGINT[]) WITH ORDINALITY AS c (id, place)
  JOIN adjourn.work AS w ON w.id = c.id
 WHERE w.state = 'pending'
   AND (w.not_before IS NULL OR w.not_before <= clock_timestamp())
 ORDER BY c.place
-- A work that somebody else holds is on its way already, or being cancelled:
-- never worth a wait, and not waiting is what keeps this free of deadlocks.
   FOR UPDATE OF w SKIP LOCKED
