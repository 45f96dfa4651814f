-- Adds figures. $1 window length; $2 instants, $3 flows, $4 decisions, $5 reasons
-- and $6 counts, side by side.
INSERT INTO adjourn.quota_figure AS f (window_start, flow, decision, reason, count)
SELECT adjourn.window_floor(n.instant, $1::INTERVAL), n.flow, n.decision, n.reason,
       sum(n.count)::BIGINT
  FROM unnest($2::TIMESTAMPTZ[], $3::TEXT[], $4::TEXT[], $5::TEXT[], $6::BIGINT[])
       AS n (instant, flow, decision, reason, count)
-- One row per key, because a statement may not touch a row twice.
 GROUP BY 1, 2, 3, 4
-- Row locks are taken in the order of the primary key by everyone, so that two
-- writers never wait for each other.
 ORDER BY 1, 2, 3, 4
ON CONFLICT (window_start, flow, decision, reason) DO UPDATE
   SET count = f.count + EXCLUDED.count
