package fileemitter

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

func TestNewMakesTheDirectory(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "a", "b")
	requireVerdict(t, emitter.Emitted, emit(t, newTarget(t, directory), emittertest.NewMessage(1)))
	require.Equal(t, []string{"invoice-2026", "invoice-2026/000000000001.json"}, list(t, directory))
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, directory := range map[string]string{
		"Directory is empty": "",
		"make Directory":     write(t, "a file", t.TempDir(), "file"),
	} {
		target, err := New(Options{Directory: directory})
		require.ErrorContains(t, err, want)
		require.Nil(t, target)
	}
}

// TestNewSweeps only what a dead process left, long ago.
func TestNewSweeps(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	long := time.Now().Add(-leftoverAge - time.Minute)
	for name, old := range map[string]bool{
		".probe.a.tmp":                    true,
		"invoice/.000000000001.bin.a.tmp": true,
		"invoice/.000000000002.bin.b.tmp": false,
		"invoice/000000000003.bin":        true,
		"invoice/.hidden":                 true,
		"invoice/a.tmp":                   true,
		"lost+found/.x.tmp":               true,
	} {
		path := write(t, "x", directory, name)
		if old {
			require.NoError(t, os.Chtimes(path, long, long))
		}
	}
	newTarget(t, directory)
	require.Equal(t, []string{
		"invoice", "invoice/.000000000002.bin.b.tmp", "invoice/.hidden", "invoice/000000000003.bin",
		"invoice/a.tmp", "lost+found", "lost+found/.x.tmp",
	}, list(t, directory))
}
