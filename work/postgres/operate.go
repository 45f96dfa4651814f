package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/work"
)

// Cancel ends a work for good. A number it holds stays its own. A work whose
// attempt is in flight is refused with a [*work.StateError]: the third party may
// be taking it.
func (store *Store) Cancel(ctx context.Context, id work.ID) error {
	return store.operate(ctx, id, "cancel", []work.State{work.Pending, work.Admitted, work.Failed}, `
WITH ended AS (
    DELETE FROM adjourn.work WHERE id = $1 AND state = ANY($2::TEXT[])
    RETURNING *
)
INSERT INTO adjourn.work_archive (
       id, flow, stream, deadline, idempotency_key, state, lane, workflow_id, slot_start,
       admission, enforced, number, attempts, outcome, reason, detail, created_at)
SELECT id, flow, stream, deadline, idempotency_key, 'cancelled', lane, workflow_id, slot_start,
       admission, enforced, number, attempts, outcome, reason, detail, created_at
  FROM ended`)
}

// Retry makes a failed work pending again, with its number and key. Works that
// have not failed are refused with a [*work.StateError].
func (store *Store) Retry(ctx context.Context, id work.ID) error {
	return store.operate(ctx, id, "retry", []work.State{work.Failed}, `
UPDATE adjourn.work
   SET state = 'pending', reason = 'operator_retry', changed_at = clock_timestamp()
 WHERE id = $1 AND state = ANY($2::TEXT[])`)
}

func (store *Store) operate(
	ctx context.Context, id work.ID, action string, accepted []work.State, sql string,
) error {
	states := make([]string, len(accepted))
	for i, state := range accepted {
		states[i] = string(state)
	}
	tag, err := store.pool.Exec(ctx, sql, id, states)
	if err != nil {
		return fmt.Errorf("%s work %d: %w", action, id, err)
	}
	if tag.RowsAffected() > 0 {
		return nil
	}
	found, err := store.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return &work.StateError{ID: id, State: found.State, Action: action, Accepted: accepted}
}

// settingPayloadBytesMax is the one limit that the database itself enforces.
const settingPayloadBytesMax = "payload_bytes_max"

// WriteSetting stores a limit that the database itself enforces, and tells
// whether it changed. "payload_bytes_max" is the only one, a whole number of
// bytes from 1; anything else is an error, because it would refuse every
// submission from then on.
func (store *Store) WriteSetting(ctx context.Context, name, value string) (changed bool, err error) {
	if name != settingPayloadBytesMax {
		return false, fmt.Errorf("setting %q: accepted is %s", name, settingPayloadBytesMax)
	}
	if bytes, err := strconv.ParseInt(value, 10, 64); err != nil || bytes < 1 {
		return false, fmt.Errorf("setting %s %q: accepted are whole numbers of bytes from 1", name, value)
	}
	err = store.pool.QueryRow(ctx, `
INSERT INTO adjourn.setting AS s (name, value) VALUES ($1, $2)
-- An unchanged setting is not written again, so that repeating a set-up is free.
ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value WHERE s.value <> EXCLUDED.value
RETURNING TRUE`, name, value).Scan(&changed)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("write setting %s: %w", name, err)
	}
	return changed, nil
}
