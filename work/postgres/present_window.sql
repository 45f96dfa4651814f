-- The present window, by the database's clock, without the register. $1 length.
WITH instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now
)
SELECT i.now, adjourn.window_floor(i.now, $1::INTERVAL) FROM instant AS i
