package telemetry

import (
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/uber-go/tally/v4"
	tallyprometheus "github.com/uber-go/tally/v4/prometheus"
	"go.temporal.io/sdk/client"
	temporaltally "go.temporal.io/sdk/contrib/tally"
	"go.uber.org/zap"
)

// temporalReportInterval is how often the SDK's figures reach the registry.
const temporalReportInterval = time.Second

// NewTemporalMetrics shows the metrics of Temporal's SDK on registry, under the
// names its documentation uses. The caller closes the returned closer after the
// workers and clients that use the handler; closing it writes the last figures.
//
// Two SDK metrics of one name with different labels cannot share a page; the
// second is dropped and logged at debug level.
func NewTemporalMetrics(registry *prometheus.Registry, logger *zap.Logger) (client.MetricsHandler, io.Closer) {
	reporter := tallyprometheus.NewReporter(tallyprometheus.Options{
		Registerer:       registry,
		Gatherer:         registry,
		DefaultTimerType: tallyprometheus.HistogramTimerType,
		DefaultHistogramBuckets: []float64{
			0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
		},
		OnRegisterError: func(err error) {
			logger.Debug("metric of the Temporal SDK dropped", zap.Error(err))
		},
	})
	scope, closer := tally.NewRootScope(tally.ScopeOptions{
		CachedReporter:         reporter,
		Separator:              tallyprometheus.DefaultSeparator,
		SanitizeOptions:        &temporaltally.PrometheusSanitizeOptions,
		OmitCardinalityMetrics: true,
	}, temporalReportInterval)
	return temporaltally.NewMetricsHandler(temporaltally.NewPrometheusNamingScope(scope)), closer
}
