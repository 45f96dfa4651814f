-- Chooses governed works in dispatch order; locks nothing. $1 flows and $2
-- whether each is enforced, side by side; $3 limit of each of the four kinds, so
-- that a backlog of enforced works does not hide the observed ones behind it, nor
-- dated works the undated ones, which may have a share of their own; $4 override
-- margin.
WITH closing AS MATERIALIZED (
    -- Up to this instant a deadline is closing: such works are the override
    -- lane's. The rule is work.Closing; a test holds the two equal.
    SELECT clock_timestamp() + GREATEST($4::INTERVAL, INTERVAL '0') AS until
), ranked AS (
    SELECT w.id, f.flow, w.deadline, f.enforced,
           row_number() OVER (
               PARTITION BY f.enforced, w.deadline IS NULL
               ORDER BY w.deadline ASC NULLS LAST, w.id) AS place
      FROM unnest($1::TEXT[], $2::BOOLEAN[]) AS f (flow, enforced)
     CROSS JOIN LATERAL (
        -- Two ranges of one index, each read in its order and no further than the
        -- limit, whatever the backlog. The undated are ordered by the deadline
        -- they do not have, because only then the index's order is theirs.
        (SELECT d.id, d.deadline
           FROM adjourn.work AS d
          WHERE d.flow = f.flow AND d.state = 'pending' AND d.not_before IS NULL
            AND d.deadline > (SELECT c.until FROM closing AS c)
          ORDER BY d.deadline, d.id
          LIMIT $3::INTEGER)
        UNION ALL
        (SELECT u.id, u.deadline
           FROM adjourn.work AS u
          WHERE u.flow = f.flow AND u.state = 'pending' AND u.not_before IS NULL
            AND u.deadline IS NULL
          ORDER BY u.deadline, u.id
          LIMIT $3::INTEGER)
     ) AS w
)
SELECT r.id, r.flow, r.deadline, r.enforced
  FROM ranked AS r
 WHERE r.place <= $3::INTEGER
 ORDER BY r.deadline ASC NULLS LAST, r.id
