package config

import "time"

// Config is every setting of the platform, as [Load] read and checked it. Fields
// are documented by their "desc" tag, which `adjourn config` and
// docs/configuration.md print. It is safe for concurrent use while nobody writes
// to it, and printing it shows no secret.
type Config struct {
	Database Database
	Quota    Quota
	Cadence  Cadence
	Deadline Deadline
	Emission Emission
	Emitter  Emitter
	Dispatch Dispatch
	Worker   Worker
	Works    Works
	Server   Server
	Log      Log
	Cache    Cache

	settings []Setting
}

// Database is where works and the quota live.
type Database struct {
	URL URL `envconfig:"DATABASE_URL" accepts:"a postgres:// URL, special characters of the password percent-encoded" desc:"Postgres that holds works and quota; its password is never shown. Required by every command that touches it; dev and demo start their own when it is not set"`
}

// Quota is the shared budget and who is held to it.
type Quota struct {
	Window           time.Duration `envconfig:"QUOTA_WINDOW" default:"1h" min:"1s" accepts:"whole seconds that divide 24h, such as 1h, 15m or 20s" desc:"Length of a window of the quota, on a fixed UTC grid"`
	Ceiling          Ceiling       `envconfig:"QUOTA_HOURLY_CEILING" accepts:"a whole number in plain digits from -2147483648 to 2147483647, such as 1000" desc:"Emissions one window may hold; below 1 refuses everything. Required once a flow enforces"`
	Enforce          Flows         `envconfig:"QUOTA_ENFORCE" accepts:"a list such as invoice:true,status:false; true and false as 1, t, T, TRUE, true, True, 0, f, F, FALSE, false or False" desc:"Governed flows: true waits for a slot, false only observes what waiting would have done. Flows named nowhere are never throttled"`
	ExemptFlows      FlowNames     `envconfig:"QUOTA_EXEMPT_FLOWS" accepts:"a list such as ack,receipt of flows that QUOTA_ENFORCE does not name" desc:"Flows that are never throttled, only counted after emission, and named in metrics"`
	WindowGuard      time.Duration `envconfig:"QUOTA_WINDOW_GUARD" default:"2s" accepts:"a duration above 0s and below half of QUOTA_WINDOW" desc:"What a window must still have left, on the database's clock, for an attempt to begin in it"`
	UndatedShare     float64       `envconfig:"QUOTA_UNDATED_SHARE" default:"0" min:"0" max:"1" desc:"Share of the room a pass finds that goes to works without a deadline while any wait"`
	LockTimeout      time.Duration `envconfig:"QUOTA_LOCK_TIMEOUT" default:"1s" min:"1ms" accepts:"a duration from 1ms to QUOTA_STATEMENT_TIMEOUT" desc:"How long a reservation waits for a lock before the arbiter counts as unavailable"`
	StatementTimeout time.Duration `envconfig:"QUOTA_STATEMENT_TIMEOUT" default:"3s" min:"1ms" max:"10m" desc:"How long a reservation may take before the arbiter counts as unavailable"`
	PoolSize         int           `envconfig:"QUOTA_POOL_SIZE" default:"4" min:"1" max:"1000" desc:"Database connections of the arbiter, in each process, shared with no other part"`
	HoldMax          time.Duration `envconfig:"QUOTA_HOLD_MAX" default:"1h" min:"1s" desc:"The longest that a third party's Retry-After may hold the quota"`
}

// Cadence smooths instants; the budget of a window may be spent in a burst
// without it.
type Cadence struct {
	PerSecond float64 `envconfig:"CADENCE_PER_SECOND" default:"0" min:"0" max:"1000000" desc:"Governed attempts a second over all processes; 0 is off"`
	Burst     int     `envconfig:"CADENCE_BURST" default:"1" min:"1" max:"1000000" desc:"Attempts that may start at once after a quiet time"`
}

// Deadline is when a work stops waiting.
type Deadline struct {
	OverrideMargin time.Duration `envconfig:"DEADLINE_OVERRIDE_MARGIN" default:"15m" min:"0s" desc:"How long before its deadline a work leaves outside the quota"`
}

// Emission is how attempts are made, whatever the technology.
type Emission struct {
	Chunk            int           `envconfig:"EMISSION_CHUNK" default:"20" min:"1" max:"1000" desc:"Works one governed or exempt workflow carries; 1 gives each work its own"`
	Timeout          time.Duration `envconfig:"EMISSION_TIMEOUT" default:"30s" min:"1ms" max:"5m" desc:"How long one attempt may take"`
	BackoffBase      time.Duration `envconfig:"EMISSION_BACKOFF_BASE" default:"5s" min:"1ms" accepts:"a duration from 1ms to EMISSION_BACKOFF_MAX" desc:"Wait after a first attempt that may have arrived; doubled each time, with full jitter"`
	BackoffMax       time.Duration `envconfig:"EMISSION_BACKOFF_MAX" default:"1h" min:"1ms" max:"24h" desc:"The longest wait between two attempts"`
	ExemptRetry      Retries       `envconfig:"EMISSION_EXEMPT_RETRY" accepts:"a list such as ack:unlimited,status:none" desc:"Whether an exempt flow's works are attempted until they succeed (unlimited, as flows not named here are) or once (none)"`
	PoolSize         int           `envconfig:"EMISSION_POOL_SIZE" default:"8" min:"1" max:"1000" desc:"Database connections of the governed and exempt lanes, in each process"`
	OverridePoolSize int           `envconfig:"EMISSION_OVERRIDE_POOL_SIZE" default:"4" min:"1" max:"1000" desc:"Database connections of the override lane, in each process, shared with no other part"`
}

// Emitter is the third party and the technology that reaches it.
type Emitter struct {
	Kind             string `envconfig:"EMITTER_KIND" default:"http" oneof:"http file" desc:"Technology: http posts to EMITTER_URL, file writes into EMITTER_DIRECTORY"`
	URL              URL    `envconfig:"EMITTER_URL" accepts:"an http:// or https:// URL without user name, password or fragment; credentials belong in EMITTER_AUTHORIZATION" desc:"Where attempts are posted; values in its query are not shown. Required by workers of kind http"`
	Authorization    Secret `envconfig:"EMITTER_AUTHORIZATION" accepts:"printable ASCII" desc:"Authorization header of every attempt, scheme included; never shown"`
	TLS              TLS
	ConnectionsMax   int           `envconfig:"EMITTER_CONNECTIONS_MAX" default:"64" min:"1" max:"65535" desc:"Open connections to the third party, in each process"`
	ConnectTimeout   time.Duration `envconfig:"EMITTER_CONNECT_TIMEOUT" default:"5s" min:"1ms" max:"1h" desc:"How long connecting may take, TLS included; what fails here costs no slot"`
	ResponseBytesMax int64         `envconfig:"EMITTER_RESPONSE_BYTES_MAX" default:"65536" min:"0" max:"1073741824" desc:"Bytes read of an answer; the rest is dropped"`
	Directory        string        `envconfig:"EMITTER_DIRECTORY" accepts:"a directory" desc:"Where files are written. Required by workers of kind file"`
}

// TLS is how the third party is recognised, and how we are.
type TLS struct {
	CAFile     string `envconfig:"EMITTER_TLS_CA_FILE" accepts:"a PEM file" desc:"Authorities to trust instead of the system's"`
	CertFile   string `envconfig:"EMITTER_TLS_CERT_FILE" accepts:"a PEM file, together with EMITTER_TLS_KEY_FILE" desc:"Our certificate, for a third party that asks for one"`
	KeyFile    string `envconfig:"EMITTER_TLS_KEY_FILE" accepts:"a PEM file, together with EMITTER_TLS_CERT_FILE" desc:"Private key of our certificate"`
	ServerName string `envconfig:"EMITTER_TLS_SERVER_NAME" accepts:"a host name" desc:"Name the third party's certificate must have, when it is not the URL's"`
	MinVersion string `envconfig:"EMITTER_TLS_MIN_VERSION" default:"1.2" oneof:"1.2 1.3" desc:"Oldest version of TLS to speak"`
}

// Dispatch is the rhythm of the passes.
type Dispatch struct {
	Interval     time.Duration `envconfig:"DISPATCH_INTERVAL" default:"10s" min:"1s" max:"24h" desc:"Time between two passes"`
	Jitter       time.Duration `envconfig:"DISPATCH_JITTER" default:"1s" min:"0s" accepts:"a duration from 0s to below DISPATCH_INTERVAL" desc:"Random part added to each pass's start"`
	Batch        int           `envconfig:"DISPATCH_BATCH" default:"1000" min:"1" max:"10000" desc:"Works one round of a pass chooses at most; a pass has a bounded number of rounds"`
	RestartAfter time.Duration `envconfig:"DISPATCH_RESTART_AFTER" default:"30s" min:"1s" max:"24h" desc:"How long a chosen work may stand without a running workflow before a pass starts it again"`
}

// Worker is this process's part on Temporal, whose own address, namespace and
// credentials come from the TEMPORAL_ variables that the SDK reads.
type Worker struct {
	TaskQueuePrefix string        `envconfig:"ADJOURN_TASK_QUEUE_PREFIX" default:"adjourn" accepts:"1 to 64 of letters, digits, _ . and -, beginning with a letter or digit" desc:"Task queues are named PREFIX-dispatch, PREFIX-governed, PREFIX-override and PREFIX-exempt. Workflow ids do not carry it: give each platform a Temporal namespace of its own"`
	Lanes           Lanes         `envconfig:"ADJOURN_LANES" default:"dispatch,governed,override,exempt" accepts:"a list of dispatch, governed, override and exempt" desc:"Which task queues a worker serves"`
	StopTimeout     time.Duration `envconfig:"ADJOURN_WORKER_STOP_TIMEOUT" default:"45s" max:"24h" accepts:"a duration above EMISSION_TIMEOUT, at most 24h" desc:"How long a stopping worker lets attempts under way end"`
	DeploymentName  string        `envconfig:"ADJOURN_DEPLOYMENT_NAME" accepts:"a name, together with ADJOURN_BUILD_ID" desc:"Worker deployment, for Temporal's worker versioning; not set is unversioned"`
	BuildID         string        `envconfig:"ADJOURN_BUILD_ID" accepts:"a name, together with ADJOURN_DEPLOYMENT_NAME" desc:"Version of the worker inside its deployment"`
}

// Works bounds what is kept of them.
type Works struct {
	PayloadBytesMax int64         `envconfig:"ADJOURN_PAYLOAD_BYTES_MAX" default:"5242880" min:"1" max:"1073741823" desc:"The largest payload accepted, in bytes"`
	Retention       time.Duration `envconfig:"ADJOURN_RETENTION" default:"2160h" min:"0s" desc:"How long emitted works are kept; 0 is for ever"`
}

// Server is where a process listens.
type Server struct {
	Address        string `envconfig:"ADJOURN_SERVER_ADDR" default:"127.0.0.1:8080" accepts:"host:port, such as 127.0.0.1:8080 or :8080" desc:"Where adjourn server listens"`
	MetricsAddress string `envconfig:"ADJOURN_METRICS_ADDR" default:"127.0.0.1:9464" empty:"off" accepts:"host:port, such as 127.0.0.1:9464 or :9464, or empty for off" desc:"Where a worker shows metrics and health; set but empty is off"`
}

// Log is what a process says.
type Log struct {
	Level  string `envconfig:"ADJOURN_LOG_LEVEL" default:"info" oneof:"debug info warn error" desc:"Least severe message that is logged"`
	Format string `envconfig:"ADJOURN_LOG_FORMAT" default:"json" oneof:"console json" desc:"Form of a message, on standard error"`
}

// Cache is where built tools live.
type Cache struct {
	Directory string `envconfig:"ADJOURN_CACHE" accepts:"a directory" desc:"Where dev and demo keep programs they built or fetched, and their data; .cache at the top of a checkout when not set, else the user's cache directory"`
}
