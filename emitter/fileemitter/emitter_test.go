package fileemitter

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/emitter"
	"github.com/adjourn/adjourn/emitter/emittertest"
)

func newTarget(t *testing.T, directory string) *Emitter {
	t.Helper()
	target, err := New(Options{Directory: directory})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	return target
}

func emit(t *testing.T, target *Emitter, message emitter.Message) emitter.Outcome {
	t.Helper()
	outcome := target.Emit(t.Context(), message)
	emittertest.RequireWellFormed(t, outcome)
	return outcome
}

func requireVerdict(t *testing.T, want emitter.Verdict, got emitter.Outcome) {
	t.Helper()
	require.Equal(t, want, got.Verdict, "%+v", got)
}

// list names all there is below a directory, itself aside.
func list(t *testing.T, directory string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		if path != directory {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(path, directory+string(filepath.Separator))))
		}
		return err
	}))
	slices.Sort(names)
	return names
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(content)
}

func write(t *testing.T, content string, parts ...string) string {
	t.Helper()
	name := filepath.Join(parts...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

func TestContract(t *testing.T) {
	t.Parallel()
	emittertest.Run(t, func(t *testing.T) emittertest.Subject {
		directory := t.TempDir()
		return emittertest.Subject{
			Emitter: newTarget(t, directory),
			Arrivals: func() (arrivals []emittertest.Arrival) {
				for _, name := range list(t, directory) {
					stream, file, published := strings.Cut(name, "/")
					if !published {
						continue
					}
					digits, _, _ := strings.Cut(file, ".")
					number, err := strconv.ParseInt(digits, 10, 64)
					require.NoError(t, err, "left behind: %s", name)
					arrivals = append(arrivals, emittertest.Arrival{
						Stream: stream, Number: number, Payload: []byte(read(t, directory, name)),
					})
				}
				return arrivals
			},
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	target := newTarget(t, directory)
	for want, message := range map[string]emitter.Message{
		"invoice/000000000001.json":                   {Stream: "invoice", Number: 1, ContentType: "application/json"},
		"a.b_c-1/999999999999.xml":                    {Stream: "a.b_c-1", Number: 999999999999, ContentType: "text/xml"},
		"invoice/1000000000000.xml":                   {Stream: "invoice", Number: 1000000000000, ContentType: "application/xml"},
		"invoice/000000000002.txt":                    {Stream: "invoice", Number: 2, ContentType: "Text/Plain; charset=utf-8"},
		"invoice/000000000003.csv":                    {Stream: "invoice", Number: 3, ContentType: "text/csv"},
		"invoice/000000000004.pdf":                    {Stream: "invoice", Number: 4, ContentType: "application/pdf"},
		"invoice/000000000005.zip":                    {Stream: "invoice", Number: 5, ContentType: "application/zip"},
		"invoice/000000000006.bin":                    {Stream: "invoice", Number: 6, ContentType: ""},
		"invoice/000000000007.bin":                    {Stream: "invoice", Number: 7, ContentType: "image/../../png"},
		"invoice/000000000008.bin":                    {Stream: "invoice", Number: 8, ContentType: "not a type;;"},
		"0" + "/000000000009.bin":                     {Stream: "0", Number: 9},
		strings.Repeat("a", 64) + "/000000000001.bin": {Stream: strings.Repeat("a", 64), Number: 1},
	} {
		message.Payload = []byte(want)
		outcome := emit(t, target, message)
		requireVerdict(t, emitter.Emitted, outcome)
		require.Equal(t, want, outcome.Reference)
		require.Equal(t, want, read(t, directory, want))
	}
}

// TestNothingLeavesTheDirectory, whatever a stream is called.
func TestNothingLeavesTheDirectory(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	directory := filepath.Join(outside, "works")
	target := newTarget(t, directory)
	for _, stream := range []string{
		"", ".", "..", "../outside", "/etc", "a/b", `a\b`, ".hidden", "-dash", "Invoice", "é", "a b",
		"a\x00", "a\n", "\xff", strings.Repeat("a", 65), strings.Repeat("../", 1000),
	} {
		message := emittertest.NewMessage(1)
		message.Stream = stream
		outcome := emit(t, target, message)
		requireVerdict(t, emitter.Rejected, outcome)
		require.Contains(t, outcome.Detail, "stream")
	}
	for _, number := range []int64{0, -1} {
		requireVerdict(t, emitter.Rejected, emit(t, target, emittertest.NewMessage(number)))
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(directory, "invoice-2026")))
	requireVerdict(t, emitter.Unsent, emit(t, target, emittertest.NewMessage(1)))
	require.Equal(t, []string{"works", "works/invoice-2026"}, list(t, outside))
}

// TestNeverOverwrites: other bytes under the same number are a person's to see.
func TestNeverOverwrites(t *testing.T) {
	t.Parallel()
	const name = "invoice-2026/000000000001.json"
	for kind, existing := range map[string]string{
		"Other": "something else", "Empty": "", "Longer": `{"order":1} `, "SameLength": `{"order":2}`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			write(t, existing, directory, name)
			outcome := emit(t, newTarget(t, directory), emittertest.NewMessage(1))
			requireVerdict(t, emitter.Rejected, outcome)
			require.Contains(t, outcome.Detail, name)
			require.Equal(t, existing, read(t, directory, name))
			require.Equal(t, []string{"invoice-2026", name}, list(t, directory))
		})
	}
	for kind, occupy := range map[string]func(t *testing.T, path string){
		"Directory": func(t *testing.T, path string) { require.NoError(t, os.MkdirAll(path, 0o750)) },
		"Link": func(t *testing.T, path string) {
			elsewhere := write(t, `{"order":1}`, t.TempDir(), "elsewhere")
			require.NoError(t, os.Symlink(elsewhere, path))
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(directory, "invoice-2026"), 0o750))
			occupy(t, filepath.Join(directory, name))
			requireVerdict(t, emitter.Rejected, emit(t, newTarget(t, directory), emittertest.NewMessage(1)))
		})
	}
}

// TestOneOfManyWins: several processes, each with other bytes for one number.
func TestOneOfManyWins(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	const rivals = 16
	outcomes := make([]emitter.Outcome, rivals)
	var racing sync.WaitGroup
	for rival := range rivals {
		target := newTarget(t, directory)
		message := emittertest.NewMessage(1)
		message.Payload = fmt.Appendf(nil, "rival %2d", rival)
		racing.Go(func() { outcomes[rival] = target.Emit(t.Context(), message) })
	}
	racing.Wait()
	winner := slices.IndexFunc(outcomes, func(outcome emitter.Outcome) bool {
		return outcome.Verdict == emitter.Emitted
	})
	require.GreaterOrEqual(t, winner, 0)
	for rival, outcome := range outcomes {
		emittertest.RequireWellFormed(t, outcome)
		if rival != winner {
			requireVerdict(t, emitter.Rejected, outcome)
		}
	}
	require.Equal(t, []string{"invoice-2026", "invoice-2026/000000000001.json"}, list(t, directory))
	require.Equal(t, fmt.Sprintf("rival %2d", winner), read(t, directory, "invoice-2026/000000000001.json"))
}

// TestUnsent: nothing was published, so the slot is kept.
func TestUnsent(t *testing.T) {
	t.Parallel()
	t.Run("StreamIsAFile", func(t *testing.T) {
		t.Parallel()
		directory := t.TempDir()
		write(t, "not a directory", directory, "invoice-2026")
		requireVerdict(t, emitter.Unsent, emit(t, newTarget(t, directory), emittertest.NewMessage(1)))
	})
	t.Run("DirectoryIsGone", func(t *testing.T) {
		t.Parallel()
		directory := filepath.Join(t.TempDir(), "works")
		target := newTarget(t, directory)
		require.NoError(t, os.Remove(directory))
		requireVerdict(t, emitter.Unsent, emit(t, target, emittertest.NewMessage(1)))
	})
	t.Run("Closed", func(t *testing.T) {
		t.Parallel()
		target, err := New(Options{Directory: t.TempDir()})
		require.NoError(t, err)
		require.NoError(t, target.Close())
		requireVerdict(t, emitter.Unsent, emit(t, target, emittertest.NewMessage(1)))
	})
}

// ending is a context that ends after it was asked once.
type ending struct {
	context.Context
	asked atomic.Int32
}

func (ctx *ending) Err() error {
	if ctx.asked.Add(1) > 1 {
		return context.Canceled
	}
	return nil
}

// TestTooLateToLink: writing took until the attempt was over.
func TestTooLateToLink(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	target := newTarget(t, directory)
	outcome := target.Emit(&ending{Context: context.Background()}, emittertest.NewMessage(1))
	emittertest.RequireWellFormed(t, outcome)
	requireVerdict(t, emitter.Unsent, outcome)
	require.Equal(t, []string{"invoice-2026"}, list(t, directory))
}

// TestLinkedButNotDurable: it is there, but perhaps not after a power cut.
func TestLinkedButNotDurable(t *testing.T) {
	t.Parallel()
	outcome := newTarget(t, t.TempDir()).published(fileName{stream: "gone", file: "1.bin"})
	emittertest.RequireWellFormed(t, outcome)
	requireVerdict(t, emitter.Uncertain, outcome)
}

// TestLinkingFailed: what is there decides, not the error.
func TestLinkingFailed(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	target := newTarget(t, directory)
	name := fileName{stream: "invoice", file: "1.bin"}
	lost := fmt.Errorf("answer lost")
	requireVerdict(t, emitter.Unsent, target.unlinked(name, []byte("x"), lost))
	write(t, "x", directory, name.path())
	requireVerdict(t, emitter.Emitted, target.unlinked(name, []byte("x"), lost))
	requireVerdict(t, emitter.Rejected, target.unlinked(name, []byte("y"), lost))
	require.NoError(t, os.RemoveAll(filepath.Join(directory, "invoice")))
	write(t, "not a directory", directory, "invoice")
	requireVerdict(t, emitter.Uncertain, target.unlinked(name, []byte("x"), lost))
}
