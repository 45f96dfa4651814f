-- Forgets finished works and what belongs to them. $1 retention, $2 limit of
-- works. Oldest first, so that repeating it gets to the end.
WITH old AS MATERIALIZED (
    SELECT a.id
      FROM adjourn.work_archive AS a
     WHERE a.finished_at < clock_timestamp() - $1::INTERVAL
     ORDER BY a.finished_at
     LIMIT $2::BIGINT
    -- Two prunes share the work instead of waiting for each other.
       FOR UPDATE SKIP LOCKED
), payloads AS (
    DELETE FROM adjourn.work_payload AS p USING old AS o WHERE p.work_id = o.id
), attempts AS (
    DELETE FROM adjourn.work_attempt AS t USING old AS o WHERE t.work_id = o.id
), deferrals AS (
    DELETE FROM adjourn.deferral AS d USING old AS o WHERE d.work_id = o.id
), keys AS (
    DELETE FROM adjourn.work_key AS k
     USING adjourn.work_archive AS a, old AS o
     WHERE a.id = o.id AND k.idempotency_key = a.idempotency_key
)
DELETE FROM adjourn.work_archive AS a USING old AS o WHERE a.id = o.id
