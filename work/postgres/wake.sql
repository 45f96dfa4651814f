-- Ends back-offs that are over. $1 limit.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), over AS MATERIALIZED (
    SELECT w.id
      FROM adjourn.work AS w
     WHERE w.state = 'pending' AND w.not_before <= (SELECT i.now FROM instant AS i)
     ORDER BY w.not_before
     LIMIT $1::INTEGER
    -- A work that somebody holds is being admitted, cancelled or woken.
       FOR UPDATE SKIP LOCKED
)
UPDATE adjourn.work AS w
   SET not_before = NULL,
       changed_at = i.now
  FROM instant AS i
 WHERE w.id = ANY(ARRAY(SELECT o.id FROM over AS o))
RETURNING w.id
