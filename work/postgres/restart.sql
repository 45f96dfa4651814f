-- Finds admitted works that stand still, so that their workflow is started again,
-- and takes note of it, so that the next pass leaves them time. $1 window length,
-- $2 how long they may stand still, $3 limit.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), still AS MATERIALIZED (
    SELECT w.id
      FROM adjourn.work AS w
     WHERE w.state = 'admitted'
       AND w.carried_since <= (SELECT i.now - $2::INTERVAL FROM instant AS i)
       -- With its window over there is nothing to start: see recover_slots.sql.
       AND (w.lane = 'governed'
            AND w.slot_start <= (SELECT i.now - $1::INTERVAL FROM instant AS i)) IS NOT TRUE
     ORDER BY w.carried_since
     LIMIT $3::INTEGER
    -- A work that somebody holds does not stand still.
       FOR UPDATE SKIP LOCKED
)
UPDATE adjourn.work AS w
   SET carried_since = i.now
  FROM instant AS i
 WHERE w.id = ANY(ARRAY(SELECT s.id FROM still AS s))
RETURNING w.id, w.flow, w.deadline, w.lane, w.workflow_id, w.slot_start
