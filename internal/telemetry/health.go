package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Check is one thing a process needs before it can do its part.
type Check struct {
	// Name as the answer shows it.
	Name string
	// Timeout after which the check has failed; required.
	Timeout time.Duration
	// Run returns nil when all is well. Its error is shown to whoever asks, so
	// it must hold no secret.
	Run func(ctx context.Context) error
}

// CheckResult is how one check ended.
type CheckResult struct {
	Name    string  `json:"name"`
	OK      bool    `json:"ok"`
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready  bool          `json:"ready"`
	Checks []CheckResult `json:"checks"`
}

// readiness runs checks; simultaneous requests share one run, so that a crowd of
// probes costs what one costs.
type readiness struct {
	checks []Check
	group  singleflight.Group
}

func (readiness *readiness) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	// Not the request's context: the run is shared with other requests. Each
	// check has its own time-out.
	ctx := context.WithoutCancel(request.Context())
	shared, _, _ := readiness.group.Do("", func() (any, error) {
		return RunChecks(ctx, readiness.checks), nil
	})
	answer, ok := shared.(Readiness)
	status := http.StatusOK
	if !ok || !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(writer, status, answer)
}

// RunChecks runs all checks at once and waits for every one, at most its
// time-out each.
func RunChecks(ctx context.Context, checks []Check) Readiness {
	answer := Readiness{Ready: true, Checks: make([]CheckResult, len(checks))}
	var running sync.WaitGroup
	for i, check := range checks {
		running.Go(func() { answer.Checks[i] = runCheck(ctx, check) })
	}
	running.Wait()
	for _, result := range answer.Checks {
		answer.Ready = answer.Ready && result.OK
	}
	return answer
}

func runCheck(ctx context.Context, check Check) CheckResult {
	ctx, cancel := context.WithTimeout(ctx, check.Timeout)
	defer cancel()
	begun := time.Now()
	err := check.Run(ctx)
	result := CheckResult{Name: check.Name, OK: err == nil, Seconds: time.Since(begun).Seconds()}
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		result.Error = fmt.Sprintf("no answer within %s: %v", check.Timeout, err)
	default:
		result.Error = err.Error()
	}
	return result
}

func writeJSON(writer http.ResponseWriter, status int, value any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Cache-Control", "no-store")
	writer.WriteHeader(status)
	// The only error left is a client that went away.
	_ = json.NewEncoder(writer).Encode(value)
}
