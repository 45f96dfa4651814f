// Package toolcache builds the programs pinned in tools/go.mod, each once, and
// keeps them in a cache directory beside the checkout.
//
// A program's file name carries a digest of the pins and of the Go version, so a
// changed pin is a new file and a stale program is never run. Processes that
// want the same program at the same time build it once: a file lock decides who
// builds and the others wait.
package toolcache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// DirectoryVariable names the environment variable that moves the cache.
const DirectoryVariable = "ADJOURN_CACHE"

// ErrOutsideCheckout tells that the working directory is not inside a checkout
// of Adjourn, so there are no pins to build from.
var ErrOutsideCheckout = errors.New("not inside a checkout of Adjourn: no tools/go.mod in this directory or above it")

// Directory is where built programs and downloads are kept: what ADJOURN_CACHE
// names, else .cache at the top of the checkout, else the user's own cache
// directory. It may not exist yet.
func Directory() (string, error) {
	if named := os.Getenv(DirectoryVariable); named != "" {
		absolute, err := filepath.Abs(named)
		if err != nil {
			return "", fmt.Errorf("resolve %s=%s: %w", DirectoryVariable, named, err)
		}
		return absolute, nil
	}
	root, err := Root()
	if err == nil {
		return filepath.Join(root, ".cache"), nil
	}
	if !errors.Is(err, ErrOutsideCheckout) {
		return "", err
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache directory (set %s to choose one): %w", DirectoryVariable, err)
	}
	return filepath.Join(user, "adjourn"), nil
}

// Root finds the top of the checkout from any directory inside it. It returns
// [ErrOutsideCheckout] when there is none.
func Root() (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for {
		pins, err := os.ReadFile(filepath.Join(directory, "tools", "go.mod"))
		if err == nil && strings.HasPrefix(string(pins), "module github.com/adjourn/adjourn/tools\n") {
			return directory, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return "", ErrOutsideCheckout
		}
		directory = parent
	}
}
