package endtoend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/adjourn/adjourn/bench/report"
)

// reading is what a worker process holds at one moment.
type reading struct{ rssKiB, connections float64 }

// Memory runs a real worker process over many works, a million unless Quick, and
// compares what it holds at the end with what it held at a tenth of them.
func Memory(ctx context.Context, sheet *report.Sheet, options Options) (err error) {
	works := 1_000_000
	if options.Quick {
		works = 2000
	}
	sheet.Progressf("memory: starting Postgres and Temporal, submitting %d works", works)
	stage, err := openStage(ctx)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	defer func() { err = errors.Join(err, stage.close(ctx)) }()
	if err := stage.submit(ctx, works); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	worker, stop, err := stage.startProcess(ctx)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	readings := map[int]reading{}
	for _, percent := range []int{10, 50, 100} {
		wanted := int64(works) * int64(percent) / 100
		err := await(ctx, "works to arrive", func() (bool, error) { return stage.party.arrived.Load() >= wanted, nil })
		if err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		if readings[percent], err = stage.read(ctx, worker); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		note(sheet, works, percent, readings[percent])
	}
	sheet.Judge(report.Target{
		Text: "memory: a worker's resident memory at the end over that at 10 %", Wanted: 1.2, AtMost: true,
		Measured: readings[100].rssKiB / readings[10].rssKiB,
	})
	sheet.Judge(report.Target{
		Text: "memory: a worker's connections at the end over those at 10 %", Wanted: 1.2, AtMost: true,
		Measured: readings[100].connections / readings[10].connections,
	})
	return nil
}

func note(sheet *report.Sheet, works, percent int, held reading) {
	at := fmt.Sprintf("%d %% of %d works", percent, works)
	sheet.Progressf("memory: %s: %.0f KiB resident, %.0f connections", at, held.rssKiB, held.connections)
	sheet.Add(report.Figure{
		Section: "memory", Case: at, Subject: subjectOurs, Metric: "resident", Unit: "KiB", Value: held.rssKiB,
	})
	sheet.Add(report.Figure{
		Section: "memory", Case: at, Subject: subjectOurs, Metric: "connections", Unit: "open", Value: held.connections,
	})
}

// startProcess builds the program and starts `adjourn worker`.
func (stage *stage) startProcess(ctx context.Context) (pid int, stop func() error, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/adjourn/adjourn").Output()
	if err != nil {
		return 0, nil, fmt.Errorf("find the module: %w", err)
	}
	directory, err := os.MkdirTemp("", "adjourn-bench-")
	if err != nil {
		return 0, nil, err
	}
	program := filepath.Join(directory, "adjourn")
	build := exec.CommandContext(ctx, "go", "build", "-C", strings.TrimSpace(string(root)), "-buildvcs=false",
		"-o", program, "./cmd/adjourn")
	if output, err := build.CombinedOutput(); err != nil {
		return 0, nil, errors.Join(fmt.Errorf("build adjourn: %w: %s", err, output), os.RemoveAll(directory))
	}
	worker := exec.CommandContext(ctx, program, "worker")
	worker.Env = append(os.Environ(), settings("ADJOURN_METRICS_ADDR=", "DATABASE_URL="+stage.Stack.DatabaseURL,
		"TEMPORAL_ADDRESS="+stage.Stack.TemporalAddress, "EMITTER_URL="+stage.party.url)...)
	worker.Stderr = os.Stderr
	worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	worker.Cancel = func() error { return worker.Process.Signal(syscall.SIGTERM) }
	worker.WaitDelay = time.Minute
	if err := worker.Start(); err != nil {
		return 0, nil, errors.Join(err, os.RemoveAll(directory))
	}
	return worker.Process.Pid, func() error {
		signalled := worker.Process.Signal(syscall.SIGTERM)
		return errors.Join(signalled, worker.Wait(), os.RemoveAll(directory))
	}, nil
}

// read asks the kernel and the server what the worker holds.
func (stage *stage) read(ctx context.Context, pid int) (held reading, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return held, err
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(after, &held.rssKiB); err != nil {
		return held, fmt.Errorf("read VmRSS: %w", err)
	}
	err = stage.Pool.QueryRow(ctx, `SELECT count(*)::FLOAT8 FROM pg_stat_activity
		WHERE application_name LIKE 'adjourn %' AND application_name <> 'adjourn command'`).Scan(&held.connections)
	return held, err
}
