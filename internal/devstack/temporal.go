package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/adjourn/adjourn/internal/devstack/toolcache"
)

const (
	// temporalStartTimeout bounds a start after the program is there.
	temporalStartTimeout = 2 * time.Minute
	// temporalGrace is how long the server may take to follow an interrupt.
	temporalGrace = 15 * time.Second
	// temporalNamespace is the one the server starts with.
	temporalNamespace = "default"
)

// TemporalOptions are the choices of [StartTemporal]. The zero value keeps
// everything in memory and listens on free ports.
type TemporalOptions struct {
	// Port of the frontend on 127.0.0.1; zero takes a free one.
	Port int
	// UIPort of the web interface on 127.0.0.1; zero takes a free one.
	UIPort int
	// DatabaseFile keeps the server's state from one start to the next. Empty:
	// in memory.
	DatabaseFile string
	// Progress is told what takes long: the first build. Nil drops it.
	Progress io.Writer
	// Log receives the server's own output, warnings and worse. Nil drops it.
	Log io.Writer
}

// Temporal is a running development server. Its methods are safe for concurrent
// use.
type Temporal struct {
	// HostPort is the frontend's address, for TEMPORAL_ADDRESS.
	HostPort string
	// Namespace exists and is ready.
	Namespace string
	// UIURL opens the web interface.
	UIURL string

	server *process
}

// StartTemporal starts a development server and returns when its namespace
// answers. ctx bounds the start only; the caller must call Stop.
//
// The program is the `temporal` on PATH, else the one pinned in tools/go.mod,
// which the first start builds.
func StartTemporal(ctx context.Context, options TemporalOptions) (*Temporal, error) {
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	program, err := temporalProgram(ctx, options.Progress)
	if err != nil {
		return nil, fmt.Errorf("start temporal: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, temporalStartTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		temporal, err := launchTemporal(ctx, program, options)
		if err == nil {
			return temporal, nil
		}
		fixed := options.Port != 0 && options.UIPort != 0
		if fixed || attempt == portAttempts || !strings.Contains(err.Error(), "address already in use") {
			return nil, fmt.Errorf("start temporal: %w", err)
		}
	}
}

func temporalProgram(ctx context.Context, progress io.Writer) (string, error) {
	if program, err := exec.LookPath("temporal"); err == nil {
		return program, nil
	}
	program, err := toolcache.Build(ctx, toolcache.Temporal(), progress)
	if errors.Is(err, toolcache.ErrOutsideCheckout) {
		return "", fmt.Errorf("%w: put a `temporal` on PATH, or set TEMPORAL_ADDRESS", err)
	}
	return program, err
}

// launchTemporal runs the server itself rather than through the SDK's
// testsuite.StartDevServer, which neither ties the server to this process's life
// nor tells of its end.
func launchTemporal(ctx context.Context, program string, options TemporalOptions) (*Temporal, error) {
	ports := [2]int{options.Port, options.UIPort}
	for i := range ports {
		if ports[i] != 0 {
			continue
		}
		free, err := freePort()
		if err != nil {
			return nil, err
		}
		ports[i] = free
	}
	arguments := []string{
		"server", "start-dev",
		"--ip", "127.0.0.1", "--port", strconv.Itoa(ports[0]),
		"--ui-ip", "127.0.0.1", "--ui-port", strconv.Itoa(ports[1]),
		"--namespace", temporalNamespace,
		"--log-level", "warn", "--log-format", "json",
	}
	if options.DatabaseFile != "" {
		arguments = append(arguments, "--db-filename", options.DatabaseFile)
	}
	command := exec.Command(program, arguments...)
	command.Env = environmentWithout("TEMPORAL_")
	server, err := startProcess("temporal", command, newTail(options.Log), syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	temporal := &Temporal{
		HostPort:  net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])),
		Namespace: temporalNamespace,
		UIURL:     "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[1])),
		server:    server,
	}
	if err := temporal.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, temporal.Stop(context.WithoutCancel(ctx)))
	}
	return temporal, nil
}

// awaitReady waits until the namespace answers. The server's end ends the wait.
func (temporal *Temporal) awaitReady(ctx context.Context) error {
	connection, err := client.NewLazyClient(client.Options{
		HostPort:  temporal.HostPort,
		Namespace: temporal.Namespace,
		Logger:    log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer connection.Close()
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		err := describe(ctx, connection)
		if err == nil {
			return nil
		}
		select {
		case <-temporal.server.done:
			return temporal.server.exitError()
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w (last: %w)", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

func describe(ctx context.Context, connection client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err := connection.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: temporalNamespace})
	return err
}

// Exited carries one error if the server ends without Stop, and is closed when
// it has ended.
func (temporal *Temporal) Exited() <-chan error { return temporal.server.exited }

// Stop shuts the server down within bounds that an ended ctx shortens. It may be
// called again.
func (temporal *Temporal) Stop(ctx context.Context) error {
	return temporal.server.stop(ctx, stopStep{signal: syscall.SIGTERM, grace: temporalGrace})
}
