package playground_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the built binary, for tests that kill processes.
var program string

func TestMain(m *testing.M) {
	status, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func runAll(m *testing.M) (status int, err error) {
	directory, err := os.MkdirTemp("", "adjourn-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	program = filepath.Join(directory, "adjourn")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", program, "../../cmd/adjourn")
	if output, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the binary: %w\n%s", err, output)
	}
	return m.Run(), nil
}
