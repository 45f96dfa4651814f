-- Past and present windows that hold anything, latest first. $1 since, $2 limit.
SELECT w.window_start, clock_timestamp() AS now, GREATEST(w.count, 0) AS count
  FROM adjourn.quota_window AS w
 WHERE w.window_start >= $1::TIMESTAMPTZ
 ORDER BY w.window_start DESC
 LIMIT $2::BIGINT
