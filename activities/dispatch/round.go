package dispatch

import (
	"context"

	"github.com/adjourn/adjourn/activities/internal/failure"
)

// ask bounds one question to the register.
func ask[Answer any](
	ctx context.Context, options Options, question func(context.Context) (Answer, error),
) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, options.StatementTimeout)
	defer cancel()
	return question(ctx)
}

// early ends a step's rounds. Once a round has started workflows, an error is
// noted beside what was done instead of hiding it.
func early(round int, err error, problem *string) error {
	if round == 0 {
		return failure.Register(err)
	}
	*problem = err.Error()
	return nil
}
