package failure

import (
	"fmt"
	"time"

	"github.com/adjourn/adjourn/work"
)

// Ended is the error of an attempt that did not settle its work, to be tried
// again after limitedFor, or by the policy when that is zero. A third party that
// asks to wait is expected.
func Ended(result work.Result, limitedFor time.Duration) error {
	message := fmt.Sprintf("work %d: attempt ended %s (%s)", result.ID, result.Outcome, result.Reason)
	if result.Outcome == work.OutcomeDeferred {
		return Expected(message, TypeLimited, limitedFor)
	}
	return Trouble(message, result.Reason, 0)
}

// inFlightWaitMin keeps a clock that runs ahead of the database's from asking
// again at once.
const inFlightWaitMin = time.Second

// InFlight asks again when an earlier attempt is surely over: at until, on the
// database's clock, which is at most surelyOver away whatever this machine's
// clock says.
func InFlight(until time.Time, surelyOver time.Duration) error {
	delay := min(max(time.Until(until), inFlightWaitMin), max(surelyOver, inFlightWaitMin))
	return Expected("an earlier attempt may still end", TypeInFlight, delay)
}
