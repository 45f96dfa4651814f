package fileemitter

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// What marks a temporary file; no work's file begins with a dot.
const (
	temporaryPrefix = "."
	temporaryEnding = ".tmp"
)

// leftoverAge is when a temporary file surely belongs to no living attempt.
const leftoverAge = 24 * time.Hour

// directoryEntriesAtOnce bounds what is held in memory of a directory.
const directoryEntriesAtOnce = 1000

// prepare writes a durable file under a temporary name beside its final one.
func (target *Emitter) prepare(name fileName, payload []byte) (temporary string, err error) {
	if err := target.root.Mkdir(name.stream, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make directory: %w", err)
	}
	temporary = name.stream + "/" + temporaryPrefix + name.file + "." + rand.Text() + temporaryEnding
	return temporary, target.write(temporary, payload)
}

// write makes a new file, durable with all its bytes, or none.
func (target *Emitter) write(name string, payload []byte) error {
	file, err := target.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	_, err = file.Write(payload)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write file: %w", err), target.root.Remove(name))
	}
	return nil
}

// holds tells whether a file has exactly these bytes.
func (target *Emitter) holds(name string, payload []byte) (bool, error) {
	about, err := target.root.Lstat(name)
	if err != nil {
		return false, fmt.Errorf("look at file: %w", err)
	}
	// Not opened unless regular: a pipe would never end.
	if !about.Mode().IsRegular() {
		return false, nil
	}
	file, err := target.root.Open(name)
	if err != nil {
		return false, fmt.Errorf("read file: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	held, err := io.ReadAll(io.LimitReader(file, int64(len(payload))+1))
	if err != nil {
		return false, fmt.Errorf("read file: %w", err)
	}
	return bytes.Equal(held, payload), nil
}

// sync makes the names in a directory survive a power cut.
func (target *Emitter) sync(name string) error {
	directory, err := target.root.Open(name)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if err := errors.Join(directory.Sync(), directory.Close()); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// probe publishes a file and takes it away again, to learn at start rather than
// at each work that it cannot be done.
func (target *Emitter) probe() error {
	first := temporaryPrefix + "probe." + rand.Text() + temporaryEnding
	second := temporaryPrefix + "probe." + rand.Text() + temporaryEnding
	if err := target.write(first, []byte("probe")); err != nil {
		return err
	}
	err := target.root.Link(first, second)
	if err == nil {
		err = target.root.Remove(second)
	}
	return errors.Join(err, target.root.Remove(first), target.sync("."))
}

// sweep removes temporary files that have been left for long.
func (target *Emitter) sweep(now time.Time) error {
	return target.eachEntry(".", func(entry fs.DirEntry) error {
		if !entry.IsDir() {
			return target.removeLeftover(".", entry, now)
		}
		if !isStream(entry.Name()) {
			return nil // not ours to look into
		}
		return target.eachEntry(entry.Name(), func(inner fs.DirEntry) error {
			return target.removeLeftover(entry.Name(), inner, now)
		})
	})
}

// removeLeftover leaves what is young or bears another name. A file that is gone
// was another process's to remove.
func (target *Emitter) removeLeftover(directory string, entry fs.DirEntry, now time.Time) error {
	name := entry.Name()
	if !strings.HasPrefix(name, temporaryPrefix) || !strings.HasSuffix(name, temporaryEnding) {
		return nil
	}
	about, err := entry.Info()
	if err == nil && about.Mode().IsRegular() && now.Sub(about.ModTime()) > leftoverAge {
		err = target.root.Remove(directory + "/" + name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (target *Emitter) eachEntry(name string, visit func(fs.DirEntry) error) error {
	directory, err := target.root.Open(name)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	defer func() { _ = directory.Close() }() // only read
	for {
		entries, err := directory.ReadDir(directoryEntriesAtOnce)
		for _, entry := range entries {
			if err := visit(entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list directory: %w", err)
		}
	}
}
