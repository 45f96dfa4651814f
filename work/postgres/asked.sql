-- Reads the works that were asked for by id, as far as they concern the governed
-- lane, in dispatch order; locks nothing. $1 ids; $2 flows and $3 whether each is
-- enforced, side by side; $4 override margin; $5 the workflow that asks.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
)
SELECT w.id, w.flow, w.deadline, coalesce(f.enforced, FALSE) AS enforced,
       -- Set when the workflow carries the work already.
       w.slot_start,
       -- Set while the work is in back-off.
       CASE WHEN w.not_before > i.now THEN w.not_before END AS waits_until
  FROM instant AS i
 CROSS JOIN adjourn.work AS w
  LEFT JOIN unnest($2::TEXT[], $3::BOOLEAN[]) AS f (flow, enforced) ON f.flow = w.flow
 WHERE w.id = ANY($1::BIGINT[])
   AND (
        -- Closing deadlines are the override lane's; the rule is work.Closing.
        (w.state = 'pending' AND f.flow IS NOT NULL
         AND (w.deadline > i.now + GREATEST($4::INTERVAL, INTERVAL '0')) IS NOT FALSE)
        OR (w.state = 'admitted' AND w.lane = 'governed' AND w.workflow_id = $5::TEXT)
   )
 ORDER BY w.deadline ASC NULLS LAST, w.id
