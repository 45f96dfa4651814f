-- Records refused works while the arbiter is in error; see defer.sql, of which
-- this is the part that needs no table of the quota. $1 window, $2 reason; $3 ids
-- and $4 flows, side by side.
WITH first_time AS (
    INSERT INTO adjourn.deferral (window_start, work_id, flow, reason)
    SELECT $1::TIMESTAMPTZ, d.id, d.flow, $2::TEXT
      FROM unnest($3::BIGINT[], $4::TEXT[]) AS d (id, flow)
     ORDER BY d.id
    -- Deferred in this window before: the first reason stays.
    ON CONFLICT (window_start, work_id) DO NOTHING
    RETURNING flow
)
SELECT r.flow, count(*) AS count FROM first_time AS r GROUP BY r.flow
