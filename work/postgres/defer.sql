-- Records refused works once per work and window, and counts those recorded in
-- the figures; answers by flow how many were new. $1 window, $2 reason; $3 ids
-- and $4 flows, side by side. A repeat in the same window writes nothing at all.
WITH first_time AS (
    INSERT INTO adjourn.deferral (window_start, work_id, flow, reason)
    SELECT $1::TIMESTAMPTZ, d.id, d.flow, $2::TEXT
      FROM unnest($3::BIGINT[], $4::TEXT[]) AS d (id, flow)
     -- By id, so that two passes that record the same works wait for each other
     -- in one direction only.
     ORDER BY d.id
    -- Deferred in this window before: the first reason stays.
    ON CONFLICT (window_start, work_id) DO NOTHING
    RETURNING flow
), counted AS MATERIALIZED (
    SELECT r.flow, count(*) AS count FROM first_time AS r GROUP BY r.flow
), figures AS (
    INSERT INTO adjourn.quota_figure AS f (window_start, flow, decision, reason, count)
    SELECT $1::TIMESTAMPTZ, c.flow, 'deferred', $2::TEXT, c.count
      FROM counted AS c
     -- The order in which everybody locks figures, and after everything else.
     ORDER BY c.flow
    ON CONFLICT (window_start, flow, decision, reason) DO UPDATE
       SET count = f.count + EXCLUDED.count
)
SELECT c.flow, c.count FROM counted AS c
