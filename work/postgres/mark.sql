-- Marks works admitted to the governed lane; they are locked. $1 slot's window,
-- $2 the arbiter's clock when it answered, so that the mark lies in that window;
-- $3 ids, $4 workflow ids, $5 admissions and $6 whether enforced, side by side.
UPDATE adjourn.work AS w
   SET state         = 'admitted',
       lane          = 'governed',
       workflow_id   = m.workflow_id,
       carried_since = $2::TIMESTAMPTZ,
       slot_start    = $1::TIMESTAMPTZ,
       admission     = m.admission,
       enforced      = m.enforced,
       not_before    = NULL,
       changed_at    = $2::TIMESTAMPTZ
  FROM unnest($3::BIGINT[], $4::TEXT[], $5::TEXT[], $6::BOOLEAN[])
       AS m (id, workflow_id, admission, enforced)
 WHERE w.id = m.id AND w.id = ANY($3::BIGINT[]) AND w.state = 'pending'
