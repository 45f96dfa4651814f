package demo

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func good() Report {
	start := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	return Report{
		Windows: []Window{
			{
				WindowStart: start, Ceiling: 10, Granted: 10, WouldDefer: 5,
				ThirdParty: ThirdParty{Governed: 15},
			},
			{
				WindowStart: start.Add(20 * time.Second), Ceiling: 10, Enforced: true,
				Granted: 10, Deferred: 3, Overridden: 2, Exempt: 4,
				ThirdParty: ThirdParty{Governed: 10, Override: 2, Exempt: 4},
			},
		},
		Submitted: 31, Emitted: 31,
	}
}

// TestJudge: each thing that must not happen is enough to fail the verdict.
func TestJudge(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil   func(*Report)
		problem string
	}{
		"ok": {func(*Report) {}, ""},
		"OneAboveTheCeiling": {
			func(r *Report) { r.Windows[1].ThirdParty.Governed = 11 },
			"window 10:00:20: 11 governed arrivals in the third party's log, ceiling 10",
		},
		"Lost": {
			func(r *Report) { r.Emitted = 30 },
			"1 of 31 works are neither emitted, pending nor failed",
		},
		"Invented": {
			func(r *Report) { r.Emitted = 32 },
			"-1 of 31 works are neither emitted, pending nor failed",
		},
		"Pending": {func(r *Report) { r.Emitted, r.Pending = 30, 1 }, "1 works are still pending"},
		"Failed":  {func(r *Report) { r.Emitted, r.Failed = 30, 1 }, "1 works failed"},
		"Gap":     {func(r *Report) { r.SequenceGaps = 1 }, "1 sequence numbers are missing"},
		"Twice":   {func(r *Report) { r.DuplicateEffects = 1 }, "1 works took effect twice"},
		"NoDeferral": {
			func(r *Report) { r.Windows[1].Deferred = 0 },
			"no deferral was seen: the ceiling was never reached",
		},
		"NoOverride": {
			func(r *Report) { r.Windows[1].ThirdParty.Override = 0 },
			"no override was seen: no deadline closed in time",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := good()
			c.spoil(&report)
			report.Judge()
			if c.problem == "" {
				require.Equal(t, VerdictOK, report.Verdict)
				require.Empty(t, report.Problems)
				return
			}
			require.Equal(t, VerdictFailed, report.Verdict)
			require.Equal(t, []string{c.problem}, report.Problems)
		})
	}
}

// TestReportJSON holds the keys that scripts read.
func TestReportJSON(t *testing.T) {
	t.Parallel()
	report := good()
	report.Windows = report.Windows[1:]
	report.Judge()
	got, err := json.Marshal(report)
	require.NoError(t, err)
	require.JSONEq(t, `{"windows":[{"window_start":"2026-12-01T10:00:20Z","ceiling":10,
		"enforced":true,"granted":10,"deferred":3,"would_defer":0,"overridden":2,"exempt":4,
		"third_party":{"governed":10,"override":2,"exempt":4}}],"submitted":31,"emitted":31,
		"pending":0,"failed":0,"sequence_gaps":0,"duplicate_effects":0,"verdict":"ok"}`, string(got))
}
