package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkTogether refuses values that read well and do not fit: in themselves or
// beside another setting.
func (reader *reader) checkTogether() {
	reader.checkDatabase()
	reader.checkQuota()
	reader.checkEmission()
	reader.checkEmitter()
	reader.checkDispatch()
	reader.checkWorker()
	reader.checkServer()
}

// require refuses the setting name unless holds. It stays silent when name, or a
// setting it is compared with, is refused already: one mistake, one line.
func (reader *reader) require(holds bool, name, detail string, comparedWith ...string) {
	if holds || slices.ContainsFunc(append(comparedWith, name), reader.refused) {
		return
	}
	reader.refuse(name, detail)
}

func (reader *reader) checkDatabase() {
	address := reader.config.Database.URL
	if address.IsZero() {
		return
	}
	parsed, err := parseURL(address.Reveal())
	reader.require(err == nil && isPostgres(parsed.Scheme), "DATABASE_URL", "not a Postgres URL")
}

// day is what windows must divide, so that the grid is the same on every day.
const day = 24 * time.Hour

func (reader *reader) checkQuota() {
	quota := reader.config.Quota
	reader.require(quota.Window > 0 && quota.Window%time.Second == 0 && day%quota.Window == 0,
		"QUOTA_WINDOW", "its windows would not fill the day evenly")
	reader.require(quota.WindowGuard > 0 && quota.WindowGuard < quota.Window/2, "QUOTA_WINDOW_GUARD",
		fmt.Sprintf("half of QUOTA_WINDOW is %s", quota.Window/2), "QUOTA_WINDOW")
	reader.require(quota.LockTimeout <= quota.StatementTimeout, "QUOTA_LOCK_TIMEOUT",
		fmt.Sprintf("QUOTA_STATEMENT_TIMEOUT, %s, would end the wait first", quota.StatementTimeout),
		"QUOTA_STATEMENT_TIMEOUT")
	enforced := quota.Enforce.Enforced()
	reader.require(quota.Ceiling.Set || len(enforced) == 0, "QUOTA_HOURLY_CEILING",
		"required, because QUOTA_ENFORCE enforces "+strings.Join(enforced, ", "), "QUOTA_ENFORCE")
	for _, flow := range quota.ExemptFlows {
		_, governed := quota.Enforce[flow]
		reader.require(!governed, "QUOTA_EXEMPT_FLOWS",
			fmt.Sprintf("flow %q is also in QUOTA_ENFORCE", flow), "QUOTA_ENFORCE")
	}
}

func (reader *reader) checkEmission() {
	emission := reader.config.Emission
	reader.require(emission.BackoffBase <= emission.BackoffMax, "EMISSION_BACKOFF_BASE",
		fmt.Sprintf("above EMISSION_BACKOFF_MAX, %s", emission.BackoffMax), "EMISSION_BACKOFF_MAX")
}

func (reader *reader) checkEmitter() {
	emitter := reader.config.Emitter
	printableASCII := func(letter rune) bool { return letter >= ' ' && letter <= '~' }
	reader.require(strings.IndexFunc(emitter.Authorization.Reveal(), func(letter rune) bool {
		return !printableASCII(letter)
	}) < 0, "EMITTER_AUTHORIZATION", "not fit for a header")
	tls := emitter.TLS
	reader.require(tls.CertFile == "" || tls.KeyFile != "", "EMITTER_TLS_KEY_FILE",
		"required, because EMITTER_TLS_CERT_FILE is set")
	reader.require(tls.KeyFile == "" || tls.CertFile != "", "EMITTER_TLS_CERT_FILE",
		"required, because EMITTER_TLS_KEY_FILE is set")
	if !emitter.URL.IsZero() {
		reader.checkEmitterURL()
	}
}

func (reader *reader) checkEmitterURL() {
	const name = "EMITTER_URL"
	parsed, err := parseURL(reader.config.Emitter.URL.Reveal())
	if err != nil {
		reader.require(false, name, "not a URL")
		return
	}
	reader.require(parsed.Scheme == "http" || parsed.Scheme == "https", name, "the scheme is neither http nor https")
	reader.require(parsed.Hostname() != "", name, "the host is missing")
	reader.require(parsed.User == nil, name, "holds a user name or password")
	reader.require(parsed.Fragment == "", name, "holds a fragment")
	tls := reader.config.Emitter.TLS
	configured := tls.CAFile != "" || tls.CertFile != "" || tls.KeyFile != "" || tls.ServerName != ""
	// Someone who names certificates does not expect to speak in the clear.
	reader.require(parsed.Scheme != "http" || !configured, name, "not https, although EMITTER_TLS_ variables are set")
}

func (reader *reader) checkDispatch() {
	dispatch := reader.config.Dispatch
	reader.require(dispatch.Jitter < dispatch.Interval, "DISPATCH_JITTER",
		fmt.Sprintf("DISPATCH_INTERVAL is %s", dispatch.Interval), "DISPATCH_INTERVAL")
}

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (reader *reader) checkWorker() {
	worker, timeout := reader.config.Worker, reader.config.Emission.Timeout
	reader.require(prefixPattern.MatchString(worker.TaskQueuePrefix), "ADJOURN_TASK_QUEUE_PREFIX", "not a prefix")
	reader.require(worker.StopTimeout > timeout, "ADJOURN_WORKER_STOP_TIMEOUT",
		fmt.Sprintf("an attempt may take EMISSION_TIMEOUT, %s", timeout), "EMISSION_TIMEOUT")
	reader.require(worker.DeploymentName == "" || worker.BuildID != "", "ADJOURN_BUILD_ID",
		"required, because ADJOURN_DEPLOYMENT_NAME is set")
	reader.require(worker.BuildID == "" || worker.DeploymentName != "", "ADJOURN_DEPLOYMENT_NAME",
		"required, because ADJOURN_BUILD_ID is set")
}

func (reader *reader) checkServer() {
	server := reader.config.Server
	reader.require(isListenAddress(server.Address), "ADJOURN_SERVER_ADDR", "not an address to listen on")
	reader.require(server.MetricsAddress == "" || isListenAddress(server.MetricsAddress),
		"ADJOURN_METRICS_ADDR", "not an address to listen on")
}

func isListenAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
