package postgres

import (
	"context"
	_ "embed" // defer.sql, defer_unarbitrated.sql
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/adjourn/adjourn/work"
)

//go:embed defer.sql
var deferSQL string

//go:embed defer_unarbitrated.sql
var deferUnarbitratedSQL string

// recordDeferrals records refused works by one of the two statements above, and
// tells by reason and flow how many were refused for the first time in the
// window. The works themselves stay as they are.
func (store *Store) recordDeferrals(
	ctx context.Context, statement string, refused []candidate, why deferral,
) (map[string]work.Tally, error) {
	deferred := map[string]work.Tally{}
	if len(refused) == 0 {
		return deferred, nil
	}
	ids := make([]work.ID, len(refused))
	flows := make([]string, len(refused))
	for i, waits := range refused {
		ids[i], flows[i] = waits.ID, waits.Flow
	}
	rows, err := store.pool.Query(ctx, statement, why.windowStart, string(why.reason), ids, flows)
	if err != nil {
		return deferred, fmt.Errorf("record deferrals: %w", err)
	}
	tally := work.Tally{}
	var flow string
	var count int
	_, err = pgx.ForEachRow(rows, []any{&flow, &count}, func() error {
		tally[flow] = count
		return nil
	})
	if err != nil {
		return deferred, fmt.Errorf("record deferrals: %w", err)
	}
	if len(tally) > 0 {
		deferred[string(why.reason)] = tally
	}
	return deferred, nil
}
