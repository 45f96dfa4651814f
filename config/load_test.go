package config_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/config"
)

// problems of an environment, each as the line an operator reads.
func problems(t *testing.T, environ ...string) []string {
	t.Helper()
	_, err := config.LoadFrom(environ)
	if err == nil {
		return nil
	}
	var refused *config.Error
	require.ErrorAs(t, err, &refused)
	var lines []string
	for _, problem := range refused.Problems {
		lines = append(lines, problem.String())
	}
	return lines
}

// Nothing set is a good configuration, and it throttles nobody (A50, A52, G11).
func TestLoadFrom_NothingSetShipsDark(t *testing.T) {
	t.Parallel()
	loaded, err := config.LoadFrom(nil)
	require.NoError(t, err)
	require.Empty(t, loaded.Quota.Enforce)
	require.Empty(t, loaded.Quota.Enforce.Enforced())
	require.Empty(t, loaded.Quota.ExemptFlows)
	require.Equal(t, config.Ceiling{}, loaded.Quota.Ceiling)
	require.Zero(t, loaded.Cadence.PerSecond)
	require.Equal(t, time.Hour, loaded.Quota.Window)
	require.Equal(t, 15*time.Minute, loaded.Deadline.OverrideMargin)
	require.Equal(t, config.Lanes{"dispatch", "governed", "override", "exempt"}, loaded.Worker.Lanes)
	require.Equal(t, "127.0.0.1:9464", loaded.Server.MetricsAddress)
}

func TestLoadFrom_ReadsEverySort(t *testing.T) {
	t.Parallel()
	loaded, err := config.LoadFrom([]string{
		"PATH=/bin", "TEMPORAL_ADDRESS=temporal:7233", "malformed", "QUOTA_WINDOW=2h",
		"QUOTA_WINDOW=20s", // of two the later counts
		"DATABASE_URL=postgres://adjourn:hunter2@h1:5432,h2:5433/app?sslmode=disable",
		"QUOTA_HOURLY_CEILING=7", "QUOTA_ENFORCE=invoice:true,status:F,a.b-c_9:1", "QUOTA_EXEMPT_FLOWS=ack,receipt",
		"QUOTA_UNDATED_SHARE=0.25", "CADENCE_PER_SECOND=2.5", "EMISSION_CHUNK=1000",
		"EMISSION_EXEMPT_RETRY=ack:unlimited,status:none,b:none", "EMITTER_URL=https://third-party.example/works?key=k",
		"EMITTER_AUTHORIZATION=Bearer hunter2", "EMITTER_RESPONSE_BYTES_MAX=1024", "ADJOURN_LANES=override,governed",
		"ADJOURN_RETENTION=0", "ADJOURN_SERVER_ADDR=[::1]:0", "ADJOURN_CACHE=/var/cache/adjourn",
	})
	require.NoError(t, err)
	require.Equal(t, 20*time.Second, loaded.Quota.Window)
	require.Equal(t, "postgres://adjourn:hunter2@h1:5432,h2:5433/app?sslmode=disable", loaded.Database.URL.Reveal())
	require.Equal(t, config.Ceiling{Limit: 7, Set: true}, loaded.Quota.Ceiling, "A51")
	require.Equal(t, config.Flows{"invoice": true, "status": false, "a.b-c_9": true}, loaded.Quota.Enforce)
	require.Equal(t, []string{"a.b-c_9", "invoice"}, loaded.Quota.Enforce.Enforced())
	require.Equal(t, config.FlowNames{"ack", "receipt"}, loaded.Quota.ExemptFlows)
	require.InDelta(t, 0.25, loaded.Quota.UndatedShare, 0)
	require.InDelta(t, 2.5, loaded.Cadence.PerSecond, 0)
	require.Equal(t, 1000, loaded.Emission.Chunk)
	require.Equal(t, config.Retries{"ack": config.Unlimited, "status": config.None, "b": config.None},
		loaded.Emission.ExemptRetry)
	require.Equal(t, []string{"b", "status"}, loaded.Emission.ExemptRetry.Once())
	require.Equal(t, "https://third-party.example/works?key=k", loaded.Emitter.URL.Reveal())
	require.Equal(t, "Bearer hunter2", loaded.Emitter.Authorization.Reveal())
	require.EqualValues(t, 1024, loaded.Emitter.ResponseBytesMax)
	require.Equal(t, config.Lanes{"override", "governed"}, loaded.Worker.Lanes)
	require.Zero(t, loaded.Works.Retention)
	require.Equal(t, "/var/cache/adjourn", loaded.Cache.Directory)
}

// The ceiling's fate, text by text (A20, A51, A58, G7): what cannot be read stops
// the process, and never becomes zero or unlimited.
func TestLoadFrom_Ceiling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int32{
		"1000": 1000, "1": 1, "0": 0, "-1": -1, "2147483647": math.MaxInt32, "-2147483648": math.MinInt32,
	} {
		loaded, err := config.LoadFrom([]string{"QUOTA_ENFORCE=invoice:true", "QUOTA_HOURLY_CEILING=" + text})
		require.NoError(t, err, text)
		require.Equal(t, config.Ceiling{Limit: want, Set: true}, loaded.Quota.Ceiling, text)
	}
	const accepted = "; accepted: a whole number in plain digits from -2147483648 to 2147483647, such as 1000"
	for text, want := range map[string]string{
		"1e3":                  `"1e3": not a whole number in plain digits`,
		"1_000":                `"1_000": not a whole number in plain digits`,
		" 100\n":               `" 100\n": remove the white space around it`,
		" ":                    `" ": remove the white space around it`,
		"2.5":                  `"2.5": not a whole number in plain digits`,
		"2147483648":           `"2147483648": out of range`,
		"-2147483649":          `"-2147483649": out of range`,
		"99999999999999999999": `"99999999999999999999": out of range`,
		"0x10":                 `"0x10": not a whole number in plain digits`,
		"+5":                   `"+5": not a whole number in plain digits`,
		"0100":                 `"0100": not a whole number in plain digits`,
		"١٠":                   `"١٠": not a whole number in plain digits`,
		"unlimited":            `"unlimited": not a whole number in plain digits`,
		"":                     `is empty: required, because QUOTA_ENFORCE enforces a, b`,
	} {
		require.Equal(t, []string{"QUOTA_HOURLY_CEILING " + want + accepted},
			problems(t, "QUOTA_ENFORCE=b:true,c:false,a:1", "QUOTA_HOURLY_CEILING="+text), text)
	}
	require.Equal(t, []string{"QUOTA_HOURLY_CEILING is not set: required, because QUOTA_ENFORCE enforces a" + accepted},
		problems(t, "QUOTA_ENFORCE=a:true"))
	require.Empty(t, problems(t, "QUOTA_ENFORCE=a:false", "QUOTA_HOURLY_CEILING="), "observing needs none")
	require.Len(t, problems(t, "QUOTA_ENFORCE=a:false", "QUOTA_HOURLY_CEILING=1e3"), 1, "unread even where unused")
}

// Flags accept what strconv.ParseBool accepts and nothing else (G7).
func TestLoadFrom_Flags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1": true, "t": true, "T": true, "TRUE": true, "true": true, "True": true,
		"0": false, "f": false, "F": false, "FALSE": false, "false": false, "False": false,
	} {
		loaded, err := config.LoadFrom([]string{"QUOTA_ENFORCE=a:" + text, "QUOTA_HOURLY_CEILING=1"})
		require.NoError(t, err, text)
		require.Equal(t, config.Flows{"a": want}, loaded.Quota.Enforce, text)
	}
	for _, text := range []string{"yes", "no", "on", "off", "tRUE", "2", "-1", "", " true", "enforce", "true:true"} {
		lines := problems(t, "QUOTA_ENFORCE=x:false,a:"+text)
		require.Len(t, lines, 1, text)
		require.Contains(t, lines[0], "neither true nor false", text)
		require.Contains(t, lines[0], "accepted: a list such as invoice:true,status:false", text)
	}
}

// One bad variable, one line that says what is wrong with it.
func TestLoadFrom_Refuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("f", 65)
	for line, want := range map[string]string{
		"QUOTA_ENFORCE=invoice":                   `item "invoice" has no colon`,
		"QUOTA_ENFORCE=a:false,":                  `item "" has no colon`,
		"QUOTA_ENFORCE=a:false,a:false":           `flow "a" is named twice`,
		"QUOTA_ENFORCE=a:false, b:false":          `flow name " b"`,
		"QUOTA_ENFORCE=Invoice:false":             `flow name "Invoice": a name is 1 to 64 of a-z, 0-9, _ . and -`,
		"QUOTA_ENFORCE=" + long + ":false":        `flow name "` + long + `"`,
		"QUOTA_ENFORCE=a\n:false":                 `flow name "a\n"`,
		"QUOTA_ENFORCE=:true":                     `flow name ""`,
		"QUOTA_EXEMPT_FLOWS=ack,ack":              `flow "ack" is named twice`,
		"QUOTA_EXEMPT_FLOWS=ack,":                 `flow name ""`,
		"QUOTA_EXEMPT_FLOWS=-ack":                 `flow name "-ack"`,
		"QUOTA_WINDOW=7m":                         `"7m": its windows would not fill the day evenly; accepted: whole seconds that divide 24h`,
		"QUOTA_WINDOW=1500ms":                     "evenly",
		"QUOTA_WINDOW=48h":                        "evenly",
		"QUOTA_WINDOW=500ms":                      "out of range",
		"QUOTA_WINDOW=-1h":                        "out of range",
		"QUOTA_WINDOW=0":                          "out of range",
		"QUOTA_WINDOW=3600":                       "not a duration with its unit",
		"QUOTA_WINDOW_GUARD=0s":                   "half of QUOTA_WINDOW is 30m0s",
		"QUOTA_WINDOW_GUARD=30m":                  "half of QUOTA_WINDOW is 30m0s",
		"QUOTA_UNDATED_SHARE=1.01":                "out of range; accepted: a decimal number from 0 to 1",
		"QUOTA_UNDATED_SHARE=-0.1":                "out of range",
		"QUOTA_UNDATED_SHARE=NaN":                 "not a decimal number",
		"QUOTA_LOCK_TIMEOUT=0s":                   "out of range",
		"QUOTA_LOCK_TIMEOUT=4s":                   "QUOTA_STATEMENT_TIMEOUT, 3s, would end the wait first",
		"QUOTA_STATEMENT_TIMEOUT=11m":             "out of range",
		"QUOTA_POOL_SIZE=0":                       "out of range; accepted: a whole number from 1 to 1000",
		"QUOTA_HOLD_MAX=0s":                       "out of range; accepted: a duration such as 90s, 15m or 1h, of at least 1s",
		"CADENCE_PER_SECOND=Inf":                  "not a decimal number",
		"CADENCE_PER_SECOND=1e3":                  "not a decimal number",
		"CADENCE_PER_SECOND=-1":                   "out of range",
		"CADENCE_BURST=0":                         "out of range",
		"DEADLINE_OVERRIDE_MARGIN=-1m":            "out of range",
		"EMISSION_CHUNK=0":                        "out of range",
		"EMISSION_CHUNK=1001":                     "out of range",
		"EMISSION_CHUNK=1_0":                      "not a whole number in plain digits",
		"EMISSION_TIMEOUT=0s":                     "out of range",
		"EMISSION_BACKOFF_BASE=2h":                "above EMISSION_BACKOFF_MAX, 1h0m0s",
		"EMISSION_EXEMPT_RETRY=ack:3":             `flow "ack": "3" is neither unlimited nor none`,
		"EMISSION_EXEMPT_RETRY=ack:none,ack:none": `flow "ack" is named twice`,
		"EMITTER_KIND=sftp":                       `"sftp": unknown; accepted: http or file`,
		"EMITTER_URL=third-party.example/works":   "not a URL",
		"EMITTER_URL=ftp://third-party.example":   "the scheme is neither http nor https",
		"EMITTER_URL=http:///works":               "the host is missing",
		"EMITTER_URL=http://h/#x":                 "holds a fragment",
		"EMITTER_AUTHORIZATION=a\nb":              "not fit for a header",
		"EMITTER_TLS_CERT_FILE=c.pem":             "EMITTER_TLS_KEY_FILE is not set: required",
		"EMITTER_TLS_KEY_FILE=k.pem":              "EMITTER_TLS_CERT_FILE is not set: required",
		"EMITTER_TLS_MIN_VERSION=1.1":             `"1.1": unknown; accepted: 1.2 or 1.3`,
		"EMITTER_RESPONSE_BYTES_MAX=-1":           "out of range",
		"DATABASE_URL=mysql://h/db":               "not a Postgres URL",
		"DATABASE_URL=postgres://h!/d":            "not a URL",
		"DATABASE_URL=host=h dbname=d":            "not a URL",
		"DISPATCH_INTERVAL=999ms":                 "out of range",
		"DISPATCH_JITTER=10s":                     "DISPATCH_INTERVAL is 10s",
		"DISPATCH_BATCH=10001":                    "out of range",
		"ADJOURN_TASK_QUEUE_PREFIX=a/b":           "not a prefix",
		"ADJOURN_LANES=governed,express":          `"express" is no lane`,
		"ADJOURN_LANES=exempt,exempt":             `lane "exempt" is named twice`,
		"ADJOURN_WORKER_STOP_TIMEOUT=30s":         "an attempt may take EMISSION_TIMEOUT, 30s",
		"ADJOURN_DEPLOYMENT_NAME=adjourn":         "ADJOURN_BUILD_ID is not set: required",
		"ADJOURN_BUILD_ID=7":                      "ADJOURN_DEPLOYMENT_NAME is not set: required",
		"ADJOURN_PAYLOAD_BYTES_MAX=0":             "out of range",
		"ADJOURN_RETENTION=-1h":                   "out of range",
		"ADJOURN_SERVER_ADDR=8080":                "not an address to listen on",
		"ADJOURN_SERVER_ADDR=:65536":              "not an address to listen on",
		"ADJOURN_METRICS_ADDR=localhost":          "not an address to listen on",
		"ADJOURN_LOG_LEVEL=INFO":                  "accepted: debug, info, warn or error",
		"ADJOURN_LOG_FORMAT=xml":                  "accepted: console or json",
	} {
		lines := problems(t, line)
		require.Len(t, lines, 1, line)
		require.Contains(t, lines[0], want, line)
		require.Contains(t, lines[0], "; accepted: ", line)
		require.NotContains(t, lines[0], "\n", line)
	}
}

// A value is repeated only as far as it helps.
func TestLoadFrom_ShortensLongValues(t *testing.T) {
	t.Parallel()
	lines := problems(t, "QUOTA_HOURLY_CEILING="+strings.Repeat("9", 100_000), "QUOTA_ENFORCE=a:"+strings.Repeat("y", 100_000))
	require.Len(t, lines, 2)
	for _, line := range lines {
		require.Less(t, len(line), 1000)
		require.Contains(t, line, "…")
	}
}

// What two variables say together.
func TestLoadFrom_RefusesTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ environ, want []string }{
		{[]string{"QUOTA_ENFORCE=ack:false", "QUOTA_EXEMPT_FLOWS=b,ack"}, []string{`flow "ack" is also in QUOTA_ENFORCE`}},
		{[]string{"QUOTA_WINDOW=4s"}, []string{`QUOTA_WINDOW_GUARD "2s" (the default): half of QUOTA_WINDOW is 2s`}},
		{[]string{"EMISSION_TIMEOUT=1m"}, []string{`ADJOURN_WORKER_STOP_TIMEOUT "45s" (the default): an attempt may take`}},
		{[]string{"EMITTER_URL=http://h/", "EMITTER_TLS_CA_FILE=ca.pem"}, []string{"not https, although EMITTER_TLS_"}},
		// One mistake is one line: what is compared with a refused value is left alone.
		{[]string{"QUOTA_WINDOW=x", "QUOTA_WINDOW_GUARD=40m"}, []string{"QUOTA_WINDOW "}},
		{[]string{"QUOTA_ENFORCE=a:yes"}, []string{"QUOTA_ENFORCE "}},
		{[]string{"QUOTA_ENFORCE=a:true", "QUOTA_HOURLY_CEILING=x"}, []string{`QUOTA_HOURLY_CEILING "x": not a whole`}},
	} {
		lines := problems(t, test.environ...)
		require.Len(t, lines, len(test.want), "%v: %v", test.environ, lines)
		for i, want := range test.want {
			require.Contains(t, lines[i], want)
		}
	}
	require.Empty(t, problems(t, "ADJOURN_DEPLOYMENT_NAME=adjourn", "ADJOURN_BUILD_ID=7", "EMITTER_URL=https://h/",
		"EMITTER_TLS_CERT_FILE=c.pem", "EMITTER_TLS_KEY_FILE=k.pem"))
}

// All problems come at once: unread values, values that do not fit together and
// names that are no settings.
func TestLoadFrom_ReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.LoadFrom([]string{
		"QUOTA_HOURLY_CEILING=1e3", "DISPATCH_INTERVAL=fast", "QUOTA_EXEMPT_FLOWS=a", "QUOTA_ENFORCE=a:false",
		"EMITTER_URL=https://user:hunter2@h/", "CADENCE_RATE_PER_SECOND=5",
	})
	require.EqualError(t, err, strings.Join([]string{
		"the configuration cannot be used:",
		`  QUOTA_HOURLY_CEILING "1e3": not a whole number in plain digits; accepted: a whole number in plain digits from -2147483648 to 2147483647, such as 1000`,
		`  QUOTA_EXEMPT_FLOWS "a": flow "a" is also in QUOTA_ENFORCE; accepted: a list such as ack,receipt of flows that QUOTA_ENFORCE does not name`,
		`  EMITTER_URL https://[redacted]@h/: holds a user name or password; accepted: an http:// or https:// URL without user name, password or fragment; credentials belong in EMITTER_AUTHORIZATION`,
		`  DISPATCH_INTERVAL "fast": not a duration with its unit; accepted: a duration such as 90s, 15m or 1h, from 1s to 24h`,
		`  CADENCE_RATE_PER_SECOND: no such setting; the nearest name is CADENCE_PER_SECOND`,
	}, "\n"))
}

// Empty is not set, but for the metrics address, where it means off (A01).
func TestLoadFrom_Empty(t *testing.T) {
	t.Parallel()
	nothing, err := config.LoadFrom(nil)
	require.NoError(t, err)
	var environ []string
	for _, setting := range nothing.Describe() {
		environ = append(environ, setting.Name+"=")
	}
	empty, err := config.LoadFrom(environ)
	require.NoError(t, err)
	require.Empty(t, empty.Server.MetricsAddress)
	for i, setting := range empty.Describe() {
		if setting.Name == "ADJOURN_METRICS_ADDR" {
			require.Equal(t, config.Environment, setting.Origin)
			continue
		}
		require.Equal(t, nothing.Describe()[i], setting)
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		environ           []string
		database, emitter string
	}{
		{nil, "DATABASE_URL is not set: required", "EMITTER_URL is not set: required to emit, because EMITTER_KIND is http"},
		{[]string{"DATABASE_URL=postgres:///a", "EMITTER_URL=http://h"}, "", ""},
		{[]string{"DATABASE_URL=postgresql://h/a", "EMITTER_KIND=file", "EMITTER_URL=http://h"}, "", "EMITTER_DIRECTORY is not set"},
		{[]string{"DATABASE_URL=postgres://h/a", "EMITTER_KIND=file", "EMITTER_DIRECTORY=/out"}, "", ""},
	} {
		loaded, err := config.LoadFrom(test.environ)
		require.NoError(t, err)
		for want, err := range map[*string]error{
			&test.database: loaded.RequireDatabase(), &test.emitter: loaded.RequireEmitter(),
		} {
			if *want == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, *want)
			require.ErrorContains(t, err, "; accepted: ")
			require.True(t, errors.As(err, new(*config.Error)))
		}
	}
}
