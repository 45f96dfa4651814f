-- Hands works whose deadline is closing to the override lane, in dispatch order.
-- It names no table of the arbiter, so none can be in its way. $1 governed flows, $2
-- override margin, $3 how long an admitted work may stand still, $4 limit, $5 what
-- the id of an override's workflow begins with.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), closing AS MATERIALIZED (
    -- The rule is work.Closing; a test holds the two equal.
    SELECT i.now, i.now + GREATEST($2::INTERVAL, INTERVAL '0') AS until FROM instant AS i
), urgent AS (
    SELECT p.id, p.deadline
      FROM unnest($1::TEXT[]) AS f (flow)
     CROSS JOIN LATERAL (
        -- Two ranges of two indexes, each read in order and no further than the limit.
        (SELECT d.id, d.deadline
           FROM adjourn.work AS d
          WHERE d.flow = f.flow AND d.state = 'pending' AND d.not_before IS NULL
            AND d.deadline <= (SELECT c.until FROM closing AS c)
          ORDER BY d.deadline, d.id
          LIMIT $4::INTEGER)
        UNION ALL
        -- A back-off does not outlast a deadline.
        (SELECT b.id, b.deadline
           FROM adjourn.work AS b
          WHERE b.flow = f.flow AND b.state = 'pending' AND b.not_before IS NOT NULL
            AND b.deadline <= (SELECT c.until FROM closing AS c)
          ORDER BY b.deadline, b.id
          LIMIT $4::INTEGER)
     ) AS p
    UNION ALL
    -- Admitted, but nobody began: the governed lane's workers are gone. Measured
    -- by changed_at, which starting the workflow again does not touch.
    (SELECT a.id, a.deadline
       FROM adjourn.work AS a
      WHERE a.state = 'admitted' AND a.lane = 'governed'
        AND a.deadline <= (SELECT c.until FROM closing AS c)
        AND a.changed_at <= (SELECT c.now - $3::INTERVAL FROM closing AS c)
      ORDER BY a.deadline, a.id
      LIMIT $4::INTEGER)
), locked AS MATERIALIZED (
    SELECT w.id
      FROM adjourn.work AS w
     -- By id alone: an array leaves no other way.
     WHERE w.id = ANY(ARRAY(
               SELECT u.id FROM urgent AS u ORDER BY u.deadline, u.id LIMIT $4::INTEGER))
       -- Asked again of the row as it is once locked.
       AND (w.state = 'pending'
            OR (w.state = 'admitted' AND w.lane = 'governed'
                AND w.changed_at <= (SELECT c.now - $3::INTERVAL FROM closing AS c)))
     ORDER BY w.deadline, w.id
    -- A work that somebody holds is on its way, or is chosen by the next pass: an
    -- urgent one never waits behind it.
       FOR UPDATE OF w SKIP LOCKED
)
UPDATE adjourn.work AS w
   SET state         = 'admitted',
       lane          = 'override',
       workflow_id   = $5::TEXT || w.id,
       carried_since = c.now,
       slot_start    = NULL,
       admission     = NULL,
       enforced      = NULL,
       not_before    = NULL,
       changed_at    = c.now
  FROM closing AS c
 WHERE w.id = ANY(ARRAY(SELECT l.id FROM locked AS l))
RETURNING w.id, w.flow, w.deadline, w.workflow_id
