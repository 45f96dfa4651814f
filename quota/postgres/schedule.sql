-- Promises start instants. $1 window length, $2 slack, $3 span of those asked.
-- Answers the distance of the first from now; no row when the schedule was never
-- opened.
WITH held AS MATERIALIZED (
    -- The row lock comes first and the clock after it: whoever waited reads the
    -- instant at which it is served, not the one at which it came.
    SELECT c.next_start
      FROM adjourn.quota_cadence AS c
     WHERE c.singleton
       FOR UPDATE
), instant AS MATERIALIZED (
    SELECT h.next_start, clock_timestamp() AS now FROM held AS h
), clock AS MATERIALIZED (
    SELECT i.next_start, i.now,
           adjourn.window_floor(i.now, $1::INTERVAL) + $1::INTERVAL AS window_end
      FROM instant AS i
), plan AS MATERIALIZED (
    -- Nothing beyond the window's end was ever promised in earnest.
    SELECT c.now, c.window_end,
           GREATEST(LEAST(c.next_start, c.window_end), c.now - $2::INTERVAL) AS first_start
      FROM clock AS c
)
UPDATE adjourn.quota_cadence AS c
   SET next_start = LEAST(p.first_start + $3::INTERVAL, p.window_end)
  FROM plan AS p
 WHERE c.singleton
RETURNING p.first_start - p.now
