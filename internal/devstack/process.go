package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// outputDelay is how long a dead server's own children may hold its output.
const outputDelay = 2 * time.Second

// process is a server that runs as a child, dies with this process where the
// system can see to it, and whose unasked exit is reported.
type process struct {
	name    string
	command *exec.Cmd
	output  *tail
	// asked is set before the first signal of a stop.
	asked atomic.Bool
	// done is closed when the child has been waited for; err is valid then.
	done chan struct{}
	err  error
	// exited carries at most one error and is closed with done.
	exited chan error
}

// startProcess starts command with output as its standard output and error.
// dying is what Linux sends the child when this process ends.
func startProcess(name string, command *exec.Cmd, output *tail, dying syscall.Signal) (*process, error) {
	command.Stdout, command.Stderr = output, output
	command.WaitDelay = outputDelay
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	dieWithParent(command.SysProcAttr, dying)
	child := &process{
		name:    name,
		command: command,
		output:  output,
		done:    make(chan struct{}),
		exited:  make(chan error, 1),
	}
	started := make(chan error, 1)
	go child.supervise(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return child, nil
}

// supervise owns the child from its start to its end, on one thread: Linux ties
// the death signal to the thread that started the child, and the Go runtime may
// end any other thread long before the process.
func (child *process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := child.command.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	child.err = child.command.Wait()
	if !child.asked.Load() {
		child.exited <- child.exitError()
	}
	close(child.exited)
	close(child.done)
}

// exitError describes an exit with the last of what the child said. Only after
// done, or on the supervising goroutine.
func (child *process) exitError() error {
	how := child.command.ProcessState.String()
	return fmt.Errorf("%s ended by itself (%s): %s", child.name, how, strings.TrimSpace(child.output.String()))
}

// stopStep is one signal and how long the child may take to follow it.
type stopStep struct {
	signal syscall.Signal
	grace  time.Duration
}

// stop sends the signals in order until the child has gone. An ended ctx skips
// the waiting between them. It may be called again, and after the child's end.
func (child *process) stop(ctx context.Context, steps ...stopStep) error {
	child.asked.Store(true)
	for _, step := range steps {
		select {
		case <-child.done:
			return nil
		default:
		}
		if err := child.command.Process.Signal(step.signal); err != nil && !gone(err) {
			return fmt.Errorf("signal %s: %w", child.name, err)
		}
		if child.awaitEnd(ctx, step.grace) {
			return nil
		}
	}
	// Last, the whole group, and the wait is short because nothing survives it.
	if err := syscall.Kill(-child.command.Process.Pid, syscall.SIGKILL); err != nil && !gone(err) {
		return fmt.Errorf("kill %s: %w", child.name, err)
	}
	if !child.awaitEnd(context.WithoutCancel(ctx), 2*outputDelay) {
		return fmt.Errorf("stop %s: process %d survives being killed", child.name, child.command.Process.Pid)
	}
	return nil
}

func (child *process) awaitEnd(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-child.done:
		return true
	case <-timer.C:
		return false
	case <-ctx.Done():
		return false
	}
}

func gone(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone)
}
