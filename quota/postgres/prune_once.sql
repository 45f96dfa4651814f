-- Forgets reservations of windows that are over. $1 window length, $2 limit.
WITH over AS MATERIALIZED (
    SELECT r.key
      FROM adjourn.quota_reservation AS r
     WHERE r.window_start < (SELECT adjourn.window_floor(clock_timestamp(), $1::INTERVAL))
     ORDER BY r.window_start
     LIMIT $2::BIGINT
       -- Rows that somebody is replacing right now are left to the next run.
       FOR UPDATE SKIP LOCKED
)
DELETE FROM adjourn.quota_reservation AS r
 USING over AS o
 WHERE r.key = o.key
