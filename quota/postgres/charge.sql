-- Counts emissions that left without a slot. $1 window length, $2 an instant of
-- the window, $3 how many. The count saturates: beyond the highest ceiling one
-- more makes no difference, and an overflow would stop the counting.
INSERT INTO adjourn.quota_window AS q (window_start, count)
VALUES (adjourn.window_floor($2::TIMESTAMPTZ, $1::INTERVAL), $3::INTEGER)
-- The row lock that reservations queue for: they see this charge or it sees them.
ON CONFLICT (window_start) DO UPDATE
   SET count = LEAST(GREATEST(q.count, 0)::BIGINT + EXCLUDED.count, 2147483647)
