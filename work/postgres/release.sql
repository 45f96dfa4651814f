-- Gives governed works back before their attempts began; their slots are wasted.
-- $1 works, $2 workflow that carries them, $3 reason. Answers the works given back.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), carried AS MATERIALIZED (
    -- By id alone: a plan made while little was admitted must not walk all that is.
    SELECT w.id, w.state
      FROM adjourn.work AS w
     WHERE w.id = ANY($1::BIGINT[])
       AND w.lane = 'governed' AND w.workflow_id = $2::TEXT
    -- By id, as everyone locks works, so that nobody waits in a circle.
     ORDER BY w.id
       FOR UPDATE
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
       reason        = $3::TEXT,
       detail        = NULL,
       changed_at    = i.now
  FROM carried AS c, instant AS i
 WHERE w.id = c.id AND c.state = 'admitted'
RETURNING w.id
