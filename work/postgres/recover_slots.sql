-- Makes governed works pending again that were admitted in a window that is over
-- and never begun: their slots died with it. $1 window length, $2 limit.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), over AS MATERIALIZED (
    SELECT w.id
      FROM adjourn.work AS w
     WHERE w.state = 'admitted' AND w.lane = 'governed'
       AND w.slot_start <= (SELECT i.now - $1::INTERVAL FROM instant AS i)
     ORDER BY w.slot_start, w.deadline
     LIMIT $2::INTEGER
    -- A work that somebody holds is being begun, given back or recovered.
       FOR UPDATE SKIP LOCKED
)
UPDATE adjourn.work AS w
   SET state         = 'pending',
       lane          = NULL,
       workflow_id   = NULL,
       carried_since = NULL,
       slot_start    = NULL,
       admission     = NULL,
       enforced      = NULL,
       outcome       = 'deferred',
       reason        = 'slot_expired',
       detail        = NULL,
       changed_at    = i.now
  FROM instant AS i
 WHERE w.id = ANY(ARRAY(SELECT o.id FROM over AS o))
RETURNING w.id
