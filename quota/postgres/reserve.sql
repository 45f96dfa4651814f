-- One reservation. $1 window length, $2 ceiling, $3 slots asked.
-- Always answers one row: window_start, now, granted, count, held_until.
WITH instant AS MATERIALIZED (
    -- The one clock, read once, so that the window, the hold and the answer speak
    -- of the same instant.
    SELECT clock_timestamp() AS now
), clock AS MATERIALIZED (
    SELECT i.now, adjourn.window_floor(i.now, $1::INTERVAL) AS window_start
      FROM instant AS i
), guard AS MATERIALIZED (
    -- What the statement's snapshot shows. It may only refuse: a refusal from here
    -- takes no row lock and writes no WAL. The grant is decided on the locked row.
    SELECT c.now, c.window_start, w.count, h.held_until,
           $2::INTEGER >= 1 AS ceiling_allows,  -- without it the first INSERT would ignore the ceiling
           $3::INTEGER >= 1 AS slots_asked,
           h.held_until IS NULL AS not_held,
           (w.count >= $2::INTEGER) IS NOT TRUE AS has_room
      FROM clock AS c
      LEFT JOIN adjourn.quota_window AS w ON w.window_start = c.window_start
      LEFT JOIN adjourn.quota_hold AS h ON h.held_until > c.now
), taken AS (
    INSERT INTO adjourn.quota_window AS q (window_start, count, last_grant)
    SELECT g.window_start, LEAST($3::INTEGER, $2::INTEGER), LEAST($3::INTEGER, $2::INTEGER)
      FROM guard AS g
     WHERE g.ceiling_allows AND g.slots_asked AND g.not_held AND g.has_room
    -- The row lock: concurrent reservations of one window queue here, and each
    -- reads the count its predecessor committed, whatever its own snapshot said.
    -- A count below zero, which the table's CHECK forbids, is no extra room.
    ON CONFLICT (window_start) DO UPDATE
       SET count      = GREATEST(q.count, 0)
                      + LEAST(EXCLUDED.last_grant, $2::INTEGER - GREATEST(q.count, 0)),
           last_grant = LEAST(EXCLUDED.last_grant, $2::INTEGER - GREATEST(q.count, 0))
     -- Full by the time the lock was had: nothing is granted, no row is returned.
     WHERE q.count < $2::INTEGER
    RETURNING q.count, q.last_grant
)
SELECT g.window_start, g.now,
       coalesce(t.last_grant, 0) AS granted,
       CASE
           WHEN t.count IS NOT NULL THEN t.count
           -- The last slots went while this statement waited for the lock: the
           -- snapshot's count is out of date, and the ceiling is what is known.
           WHEN g.ceiling_allows AND g.slots_asked AND g.not_held AND g.has_room THEN $2::INTEGER
           ELSE GREATEST(g.count, 0)
       END AS count,
       g.held_until
  FROM guard AS g
  LEFT JOIN taken AS t ON TRUE
