-- Holds every reservation until an instant. $1 the instant, $2 the longest hold.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), wanted AS MATERIALIZED (
    SELECT i.now, LEAST($1::TIMESTAMPTZ, i.now + $2::INTERVAL) AS held_until
      FROM instant AS i
)
INSERT INTO adjourn.quota_hold AS h (held_until, set_at)
SELECT w.held_until, w.now
  FROM wanted AS w
 WHERE w.held_until > w.now
    -- A hold as long as the present one writes nothing: after a limit many
    -- attempts ask for the same.
   AND NOT EXISTS (SELECT FROM adjourn.quota_hold AS p WHERE p.held_until >= w.held_until)
-- The row lock of the singleton; the later of two concurrent holds stays.
ON CONFLICT (singleton) DO UPDATE
   SET held_until = EXCLUDED.held_until,
       set_at     = EXCLUDED.set_at
 WHERE EXCLUDED.held_until > h.held_until
