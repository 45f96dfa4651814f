-- One reservation of one slot under a key. $1 window length, $2 ceiling, $3 key.
-- Runs in the transaction that lock_key.sql opened, so that repeats of one key
-- follow each other. Always answers one row: window_start, now, granted, count,
-- held_until. See reserve.sql, whose rule this is with 1 slot asked.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), clock AS MATERIALIZED (
    SELECT i.now, adjourn.window_floor(i.now, $1::INTERVAL) AS window_start
      FROM instant AS i
), guard AS MATERIALIZED (
    SELECT c.now, c.window_start, w.count, h.held_until,
           $2::INTEGER >= 1 AS ceiling_allows,  -- without it the first INSERT would ignore the ceiling
           h.held_until IS NULL AS not_held,
           (w.count >= $2::INTEGER) IS NOT TRUE AS has_room,
           r.key IS NOT NULL AS kept
      FROM clock AS c
      LEFT JOIN adjourn.quota_window AS w ON w.window_start = c.window_start
      LEFT JOIN adjourn.quota_hold AS h ON h.held_until > c.now
      -- The key's slot of this very window, not yet used for an attempt.
      LEFT JOIN adjourn.quota_reservation AS r
        ON r.key = $3::TEXT AND r.window_start = c.window_start AND NOT r.spent
), taken AS (
    INSERT INTO adjourn.quota_window AS q (window_start, count, last_grant)
    SELECT g.window_start, 1, 1
      FROM guard AS g
     WHERE g.ceiling_allows AND g.not_held AND g.has_room AND NOT g.kept
    -- The row lock, as in reserve.sql; held until the reservation below commits.
    ON CONFLICT (window_start) DO UPDATE
       SET count      = GREATEST(q.count, 0) + 1,
           last_grant = 1
     WHERE q.count < $2::INTEGER
    RETURNING q.window_start, q.count
), remembered AS (
    INSERT INTO adjourn.quota_reservation AS r (key, window_start)
    SELECT $3::TEXT, t.window_start FROM taken AS t
    -- The key's earlier slot is spent or its window is over: the new one replaces
    -- it. Nobody else can hold this row, because the key itself is locked.
    ON CONFLICT (key) DO UPDATE
       SET window_start = EXCLUDED.window_start,
           spent        = FALSE,
           reserved_at  = EXCLUDED.reserved_at
)
SELECT g.window_start, g.now,
       (t.count IS NOT NULL OR (g.kept AND g.ceiling_allows AND g.not_held))::INTEGER AS granted,
       CASE
           WHEN t.count IS NOT NULL THEN t.count
           WHEN g.ceiling_allows AND g.not_held AND g.has_room AND NOT g.kept THEN $2::INTEGER
           ELSE GREATEST(g.count, 0)
       END AS count,
       g.held_until
  FROM guard AS g
  LEFT JOIN taken AS t ON TRUE
