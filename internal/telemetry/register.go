package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/adjourn/adjourn/quota"
)

// Waiting is how many works of one flow are pending, and since when the oldest.
type Waiting struct {
	Flow   string
	Works  int64
	Oldest time.Duration
}

// Register answers what a scrape asks the database.
type Register interface {
	// Usage of the current window.
	Usage(ctx context.Context) (quota.Usage, error)
	// Waiting works, by flow.
	Waiting(ctx context.Context) ([]Waiting, error)
}

// RegisterTimeout bounds each of the two questions one scrape asks the database.
const RegisterTimeout = 3 * time.Second

// registerCollector reads the database at each scrape, so that its gauges are
// the platform's and not one process's.
type registerCollector struct {
	register Register
	ceiling  func() int32
	flows    flowLabels
	logger   *zap.Logger

	used, ceilings, remaining, heldSeconds, works, oldest *prometheus.Desc
	readable                                              *prometheus.Desc
}

// NewRegisterCollector returns a collector of the window's gauges and of the
// backlog's. ceiling is asked at each scrape. A database that does not answer
// within [RegisterTimeout] each leaves its gauges out, sets
// adjourn_register_readable to 0 and fails no scrape.
func NewRegisterCollector(
	register Register, ceiling func() int32, flows []string, logger *zap.Logger,
) prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &registerCollector{
		register: register, ceiling: ceiling, flows: newFlowLabels(flows), logger: logger,
		used: describe("adjourn_quota_window_used",
			"Emissions counted in the current window."),
		ceilings: describe("adjourn_quota_window_ceiling",
			"Emissions one window may hold; below 1 refuses everything."),
		remaining: describe("adjourn_quota_window_remaining",
			"Slots the current window still has."),
		heldSeconds: describe("adjourn_quota_hold_seconds",
			"How long the third party still asks everyone to wait; 0 without a hold."),
		works: describe("adjourn_work_waiting",
			"Pending works.", "flow"),
		oldest: describe("adjourn_work_oldest_waiting_seconds",
			"Age of the oldest pending work; 0 without any.", "flow"),
		readable: describe("adjourn_register_readable",
			"1 when the database answered this scrape, 0 when it did not."),
	}
}

func (collector *registerCollector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{
		collector.used, collector.ceilings, collector.remaining, collector.heldSeconds,
		collector.works, collector.oldest, collector.readable,
	} {
		descriptions <- description
	}
}

func (collector *registerCollector) Collect(metrics chan<- prometheus.Metric) {
	// Each part on its own: a broken quota table must not hide the backlog.
	readable := 1.0
	for part, collect := range map[string]func(context.Context, chan<- prometheus.Metric) error{
		"window": collector.collectWindow, "backlog": collector.collectBacklog,
	} {
		// Prometheus gives a collector no context.
		ctx, cancel := context.WithTimeout(context.Background(), RegisterTimeout)
		if err := collect(ctx, metrics); err != nil {
			readable = 0
			collector.logger.Warn("part of the metrics page is missing",
				zap.String("part", part), zap.Error(err))
		}
		cancel()
	}
	metrics <- gauge(collector.readable, readable)
}

func (collector *registerCollector) collectWindow(ctx context.Context, metrics chan<- prometheus.Metric) error {
	ceiling := collector.ceiling()
	metrics <- gauge(collector.ceilings, float64(ceiling))
	usage, err := collector.register.Usage(ctx)
	if err != nil {
		return err
	}
	metrics <- gauge(collector.used, float64(usage.Count))
	metrics <- gauge(collector.remaining, float64(usage.Remaining(ceiling)))
	metrics <- gauge(collector.heldSeconds, max(0, heldFor(usage).Seconds()))
	return nil
}

func (collector *registerCollector) collectBacklog(ctx context.Context, metrics chan<- prometheus.Metric) error {
	waiting, err := collector.register.Waiting(ctx)
	if err != nil {
		return err
	}
	byLabel := map[string]Waiting{}
	for _, label := range collector.flows.all() {
		byLabel[label] = Waiting{}
	}
	for _, flow := range waiting {
		label := collector.flows.label(flow.Flow)
		sum := byLabel[label]
		sum.Works += flow.Works
		sum.Oldest = max(sum.Oldest, flow.Oldest)
		byLabel[label] = sum
	}
	for label, sum := range byLabel {
		metrics <- gauge(collector.works, float64(sum.Works), label)
		metrics <- gauge(collector.oldest, sum.Oldest.Seconds(), label)
	}
	return nil
}

func heldFor(usage quota.Usage) time.Duration {
	if usage.HeldUntil.IsZero() {
		return 0
	}
	return usage.HeldUntil.Sub(usage.Now)
}

func gauge(description *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
}
