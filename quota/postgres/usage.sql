-- Reads the present window; takes no lock. $1 window length.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), clock AS MATERIALIZED (
    SELECT i.now, adjourn.window_floor(i.now, $1::INTERVAL) AS window_start
      FROM instant AS i
)
SELECT c.window_start, c.now, GREATEST(w.count, 0) AS count, h.held_until
  FROM clock AS c
  LEFT JOIN adjourn.quota_window AS w ON w.window_start = c.window_start
  LEFT JOIN adjourn.quota_hold AS h ON h.held_until > c.now
