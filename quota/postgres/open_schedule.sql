-- Opens the schedule with everything free.
INSERT INTO adjourn.quota_cadence (next_start)
VALUES ('-infinity')
-- Another process opened it first; its promises stand.
ON CONFLICT (singleton) DO NOTHING
