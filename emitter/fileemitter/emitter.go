package fileemitter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/adjourn/adjourn/emitter"
)

// Modes of what is made, before the process's umask: the third party's reader is
// another user of the group.
const (
	directoryMode fs.FileMode = 0o750
	fileMode      fs.FileMode = 0o640
)

// Options of an emitter.
type Options struct {
	// Directory that holds the streams' directories; made if it is missing.
	// Required.
	Directory string
}

// Emitter writes works into one directory. Safe for concurrent use, also by
// several processes.
type Emitter struct {
	root *os.Root
}

var _ emitter.Emitter = (*Emitter)(nil)

// errTooLate is why an attempt whose last instant has passed publishes nothing.
var errTooLate = errors.New("the last instant to send has passed")

// New makes the directory, checks that files can be published there, and removes
// what processes that died have left. The caller must call Close.
func New(options Options) (*Emitter, error) {
	if options.Directory == "" {
		return nil, errors.New("check file emitter: Directory is empty: accepted is a path")
	}
	if err := os.MkdirAll(options.Directory, directoryMode); err != nil {
		return nil, fmt.Errorf("make Directory: %w", err)
	}
	root, err := os.OpenRoot(options.Directory)
	if err != nil {
		return nil, fmt.Errorf("open Directory: %w", err)
	}
	target := &Emitter{root: root}
	if err := errors.Join(target.probe(), target.sweep(time.Now())); err != nil {
		return nil, errors.Join(fmt.Errorf("check Directory %q: %w", options.Directory, err), root.Close())
	}
	return target, nil
}

// Close releases the directory. Call it after the last Emit has returned.
func (target *Emitter) Close() error {
	if err := target.root.Close(); err != nil {
		return fmt.Errorf("close Directory: %w", err)
	}
	return nil
}

// Emit publishes the message's file; see the package comment for what becomes of
// it. The reference is the file's name, relative to the directory. The end of ctx
// is heeded between operations on files, which cannot be interrupted themselves.
func (target *Emitter) Emit(ctx context.Context, message emitter.Message) emitter.Outcome {
	name, err := nameOf(message)
	if err != nil {
		return outcome(emitter.Rejected, err)
	}
	if err := mayPublish(ctx, message); err != nil {
		return outcome(emitter.Unsent, err)
	}
	temporary, err := target.prepare(name, message.Payload)
	if err != nil {
		return outcome(emitter.Unsent, err)
	}
	defer func() { _ = target.root.Remove(temporary) }() // harmless if it stays
	// Again, just before the one step that counts.
	if err := mayPublish(ctx, message); err != nil {
		return outcome(emitter.Unsent, err)
	}
	if err := target.root.Link(temporary, name.path()); err != nil {
		return target.unlinked(name, message.Payload, err)
	}
	return target.published(name)
}

// mayPublish is nil while the attempt is neither too late nor cancelled.
func mayPublish(ctx context.Context, message emitter.Message) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if message.TooLate(time.Now()) {
		return errTooLate
	}
	return nil
}

// unlinked is the outcome when linking failed. Whether the name exists is looked
// at, not taken from the error: a network file system may have linked and lost
// the answer.
func (target *Emitter) unlinked(name fileName, payload []byte, cause error) emitter.Outcome {
	same, err := target.holds(name.path(), payload)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return outcome(emitter.Unsent, cause)
	case err != nil:
		return outcome(emitter.Uncertain, errors.Join(cause, err))
	case !same:
		return outcome(emitter.Rejected,
			fmt.Errorf("file %q exists with other bytes; it was left as it is", name.path()))
	}
	// This work's, from an attempt that nobody recorded.
	return target.published(name)
}

// published is the outcome once the file is there: emitted when that survives a
// power cut.
func (target *Emitter) published(name fileName) emitter.Outcome {
	// The stream's directory may be another attempt's, not durable yet either.
	if err := errors.Join(target.sync(name.stream), target.sync(".")); err != nil {
		return outcome(emitter.Uncertain, err)
	}
	return emitter.Outcome{
		Verdict:   emitter.Emitted,
		Reference: emitter.Text(name.path(), emitter.ReferenceBytesMax),
	}
}

func outcome(verdict emitter.Verdict, err error) emitter.Outcome {
	return emitter.Outcome{Verdict: verdict, Detail: emitter.Text(err.Error(), emitter.DetailBytesMax)}
}
