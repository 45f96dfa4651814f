//go:build unix

package fileemitter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

// roomBytes is what fits into a file of the process below.
const roomBytes = 1 << 16

// emitOntoAFullDisk is a child: the kernel lets it write the beginning of a file
// and then no more.
func emitOntoAFullDisk(directory string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: roomBytes, Max: roomBytes}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println("cannot begin:", err)
		return
	}
	target, err := New(Options{Directory: directory})
	if err != nil {
		fmt.Println("cannot begin:", err)
		return
	}
	message := emittertest.NewMessage(1)
	message.Payload = bytes.Repeat([]byte("x"), roomBytes+1)
	outcome := target.Emit(context.Background(), message)
	_ = json.NewEncoder(os.Stdout).Encode(outcome) // read by the parent
}

// TestAPipeInTheWay is not read: nobody may ever write to it.
func TestAPipeInTheWay(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(directory, "invoice-2026"), 0o750))
	require.NoError(t, syscall.Mkfifo(filepath.Join(directory, "invoice-2026", "000000000001.json"), 0o600))
	message := emittertest.NewMessage(1)
	message.Payload = nil
	requireVerdict(t, emitter.Rejected, emit(t, newTarget(t, directory), message))
}

// TestAFullDiskPublishesNothing: the slot is kept, and nothing is left behind.
func TestAFullDiskPublishesNothing(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), fullVariable+"="+directory)
	output, err := command.Output()
	require.NoError(t, err)
	var outcome emitter.Outcome
	require.NoError(t, json.Unmarshal(output, &outcome), "%s", output)
	emittertest.RequireWellFormed(t, outcome)
	require.Equal(t, emitter.Unsent, outcome.Verdict)
	require.Contains(t, outcome.Detail, syscall.EFBIG.Error())
	require.Equal(t, []string{"invoice-2026"}, list(t, directory))
}
