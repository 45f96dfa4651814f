package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

// Bounds of the HTTP server.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = time.Minute
	headerBytesMax    = 16 << 10
	// scrapeTimeout is below Prometheus' own default of 10 s, so that a slow
	// database shows as an error page and not as a vanished target.
	scrapeTimeout  = 8 * time.Second
	scrapesAtOnce  = 4
	closeServerMax = 5 * time.Second
)

// NewHandler serves /metrics from registry, /healthz (the process is up) and
// /readyz (the checks pass; 503 and which one otherwise).
func NewHandler(registry *prometheus.Registry, checks []Check, logger *zap.Logger) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.InstrumentMetricHandler(registry,
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			ErrorLog:            scrapeLog{logger},
			ErrorHandling:       promhttp.ContinueOnError,
			MaxRequestsInFlight: scrapesAtOnce,
			Timeout:             scrapeTimeout,
		})))
	mux.HandleFunc("GET /healthz", func(writer http.ResponseWriter, _ *http.Request) {
		writeJSON(writer, http.StatusOK, map[string]bool{"ok": true})
	})
	mux.Handle("GET /readyz", &readiness{checks: checks})
	return mux
}

// scrapeLog receives what promhttp could not gather.
type scrapeLog struct{ logger *zap.Logger }

func (log scrapeLog) Println(values ...any) {
	log.logger.Warn("metrics page incomplete", zap.String("cause", fmt.Sprint(values...)))
}

// Server is an HTTP server with every time-out set, run by one goroutine from
// Listen to Close.
type Server struct {
	server   *http.Server
	listener net.Listener
	done     chan error
}

// Listen serves handler on address ("host:port"; port 0 takes a free one) until
// Close. An address that cannot be taken is an error.
func Listen(ctx context.Context, address string, handler http.Handler, logger *zap.Logger) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP on %q: %w", address, err)
	}
	errorLog, err := zap.NewStdLogAt(logger, zap.WarnLevel)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redirect the HTTP server's log: %w", err), listener.Close())
	}
	server := &Server{
		server: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			WriteTimeout:      writeTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    headerBytesMax,
			ErrorLog:          errorLog,
		},
		listener: listener,
		done:     make(chan error, 1),
	}
	go func() { server.done <- server.server.Serve(listener) }()
	return server, nil
}

// Addr is the address in use, "host:port".
func (server *Server) Addr() string { return server.listener.Addr().String() }

// Close stops accepting, waits for requests under way at most five seconds and
// ctx, and cuts off the rest. Call it once.
func (server *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeServerMax)
	defer cancel()
	err := server.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests cut off: %w", err), server.server.Close())
	}
	if served := <-server.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve HTTP: %w", served))
	}
	return err
}
