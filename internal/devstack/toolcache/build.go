package toolcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/adjourn/adjourn/internal/devstack/filelock"
)

const (
	// buildTimeout bounds one build, downloads included, on a slow machine.
	buildTimeout = 30 * time.Minute
	// progressInterval is how often a waiting person is told that it goes on.
	progressInterval = 20 * time.Second
	// killDelay is how long a cancelled compiler's children may hold the pipe.
	killDelay = 5 * time.Second
)

// Build returns the path of the pinned program, building it first when the cache
// does not hold it. It works from any directory of the checkout and returns
// [ErrOutsideCheckout] elsewhere.
//
// It writes to progress what it does and, every twenty seconds, that it still
// does; nothing when the program is there already. Safe for concurrent use, by
// processes too.
func Build(ctx context.Context, tool Tool, progress io.Writer) (string, error) {
	root, err := Root()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", tool.Title, err)
	}
	cache, err := Directory()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", tool.Title, err)
	}
	digest, err := pinsDigest(filepath.Join(root, "tools"))
	if err != nil {
		return "", fmt.Errorf("build %s: %w", tool.Title, err)
	}
	directory := filepath.Join(cache, "bin")
	target := filepath.Join(directory, tool.Name+"-"+digest)
	if isProgram(target) {
		return target, nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", fmt.Errorf("build %s: make the cache directory (%s moves it): %w", tool.Title, DirectoryVariable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	unlock, err := filelock.Lock(ctx, filepath.Join(directory, tool.Name+".lock"), func() {
		say(progress, "waiting for another process that builds %s", tool.Title)
	})
	if err != nil {
		return "", fmt.Errorf("build %s: lock the cache (%s moves it): %w", tool.Title, DirectoryVariable, err)
	}
	defer unlock()
	if isProgram(target) { // the lock's last holder built it
		return target, nil
	}
	if err := compile(ctx, tool, root, target, progress); err != nil {
		return "", fmt.Errorf("build %s: %w", tool.Title, err)
	}
	return target, nil
}

// pinsDigest names a state of the pins: any change of a version, or of the Go
// that compiles them, is another digest.
func pinsDigest(directory string) (string, error) {
	state := fmt.Appendf(nil, "%s %s %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			return "", fmt.Errorf("read the pins: %w", err)
		}
		state = fmt.Appendf(state, "%s %d\n%s", name, len(content), content)
	}
	return fmt.Sprintf("%x", sha256.Sum256(state))[:12], nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func compile(ctx context.Context, tool Tool, root, target string, progress io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("find the Go compiler: %w", err)
	}
	partial := target + ".partial"
	// Stripped: the Temporal server alone shrinks by a hundred megabytes. Without
	// cgo no C compiler is needed. No VCS stamp: a checkout owned by another user
	// would refuse one, and the file name tells the version.
	command := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(root, "tools"),
		"-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", partial, tool.Package)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// Its own process group, so that a cancelled build takes its compilers along.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = killDelay
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output

	say(progress, "building %s from tools/go.mod, once, %s …", tool.Title, tool.Patience)
	begun := time.Now()
	stop := report(progress, tool, begun)
	err := command.Run()
	stop()
	if err != nil {
		return errors.Join(
			fmt.Errorf("go build %s: %w\n%s", tool.Package, err, strings.TrimSpace(output.String())),
			removeIfThere(partial))
	}
	if err := os.Rename(partial, target); err != nil {
		return err
	}
	say(progress, "built %s in %s: %s", tool.Title, time.Since(begun).Round(time.Second), target)
	return nil
}

// report tells progress again and again until the returned function is called,
// which waits for the last line to be written.
func report(progress io.Writer, tool Tool, begun time.Time) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				say(progress, "still building %s, %s so far …", tool.Title, time.Since(begun).Round(time.Second))
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// say writes one line for a person. A reader that went away does not stop a
// build, so the write's error is dropped.
func say(progress io.Writer, format string, arguments ...any) {
	_, _ = fmt.Fprintf(progress, format+"\n", arguments...)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
