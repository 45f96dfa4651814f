-- Hands works of flows that are never throttled to the exempt lane. It names no
-- table of the arbiter. $1 governed flows, $2 limit, $3 works of one workflow, $4
-- what the id of an exempt workflow begins with.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), chosen AS (
    SELECT w.id
      -- Every flow ever submitted but the governed ones: what nobody declared is
      -- exempt.
      FROM adjourn.flow AS f
     CROSS JOIN LATERAL (
        SELECT p.id, p.deadline
          FROM adjourn.work AS p
         WHERE p.flow = f.name AND p.state = 'pending' AND p.not_before IS NULL
         ORDER BY p.deadline, p.id
         LIMIT $2::INTEGER
     ) AS w
     WHERE f.name <> ALL($1::TEXT[])
     ORDER BY w.deadline ASC NULLS LAST, w.id
     LIMIT $2::INTEGER
), locked AS MATERIALIZED (
    SELECT w.id, w.flow, w.deadline
      FROM adjourn.work AS w
     -- By id alone: an array leaves no other way.
     WHERE w.id = ANY(ARRAY(SELECT c.id FROM chosen AS c)) AND w.state = 'pending'
     ORDER BY w.deadline ASC NULLS LAST, w.id
    -- A work that somebody holds is on its way or being cancelled.
       FOR UPDATE OF w SKIP LOCKED
), placed AS (
    SELECT l.id, l.flow,
           row_number() OVER (
               PARTITION BY l.flow ORDER BY l.deadline ASC NULLS LAST, l.id) - 1 AS place
      FROM locked AS l
), chunked AS (
    -- The first work of each chunk names the workflow.
    SELECT p.id,
           first_value(p.id) OVER (
               PARTITION BY p.flow, p.place / $3::INTEGER ORDER BY p.place) AS first
      FROM placed AS p
)
UPDATE adjourn.work AS w
   SET state         = 'admitted',
       lane          = 'exempt',
       workflow_id   = $4::TEXT || k.first,
       carried_since = i.now,
       enforced      = NULL,
       not_before    = NULL,
       changed_at    = i.now
  FROM chunked AS k, instant AS i
 WHERE w.id = k.id AND w.id = ANY(ARRAY(SELECT a.id FROM chunked AS a))
RETURNING w.id, w.flow, w.deadline, w.workflow_id
