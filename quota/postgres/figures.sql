-- What windows saw, latest window first. $1 since, $2 limit.
SELECT f.window_start, f.flow, f.decision, f.reason, f.count
  FROM adjourn.quota_figure AS f
 WHERE f.window_start >= $1::TIMESTAMPTZ
 ORDER BY f.window_start DESC, f.flow, f.decision, f.reason
 LIMIT $2::BIGINT
