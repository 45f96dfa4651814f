package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

const (
	// oldestPostgres is the first major version whose SQL Adjourn's schema needs.
	oldestPostgres = 14
	// versionTimeout bounds asking a program for its version.
	versionTimeout = 10 * time.Second
)

// binaries are one installation's server programs.
type binaries struct {
	// directory holds initdb and postgres.
	directory string
	// major version, 15 for one.
	major int
}

func (found binaries) program(name string) string { return filepath.Join(found.directory, name) }

// installedPlaces are where distributions keep the server's programs off PATH.
func installedPlaces() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
	}
}

// findBinaries prefers what PATH names, then the newest installation, then a
// download; only what who may run counts.
func findBinaries(
	ctx context.Context, who account, options *PostgresOptions, scratch string,
) (binaries, error) {
	if found, ok := onPath(ctx, who); ok {
		return found, nil
	}
	if found, ok := newestInstalled(ctx, who, installedPlaces()); ok {
		return found, nil
	}
	return downloadBinaries(ctx, who, options, scratch)
}

func onPath(ctx context.Context, who account) (binaries, bool) {
	program, err := exec.LookPath("postgres")
	if err != nil {
		return binaries{}, false
	}
	// Debian links the server alone into PATH; initdb lies beside the original.
	places := []string{filepath.Dir(program)}
	if original, err := filepath.EvalSymlinks(program); err == nil {
		places = append(places, filepath.Dir(original))
	}
	for _, place := range places {
		if found, err := inspect(ctx, who, place); err == nil {
			return found, true
		}
	}
	return binaries{}, false
}

func newestInstalled(ctx context.Context, who account, patterns []string) (binaries, bool) {
	var installed []binaries
	for _, pattern := range patterns {
		// The patterns are constants, so none is malformed.
		places, _ := filepath.Glob(pattern)
		for _, place := range places {
			if found, err := inspect(ctx, who, place); err == nil {
				installed = append(installed, found)
			}
		}
	}
	if len(installed) == 0 {
		return binaries{}, false
	}
	return slices.MaxFunc(installed, func(a, b binaries) int { return cmp.Compare(a.major, b.major) }), true
}

// inspect accepts a directory that holds both programs, new enough, where who
// may run them.
func inspect(ctx context.Context, who account, directory string) (binaries, error) {
	found := binaries{directory: directory}
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(found.program(name)); err != nil {
			return binaries{}, err
		}
	}
	barrier, err := who.barrier(directory)
	if err != nil {
		return binaries{}, err
	}
	if barrier != "" {
		return binaries{}, fmt.Errorf("user %s may not enter %s", who.name, barrier)
	}
	found.major, err = majorVersion(ctx, found.program("postgres"))
	if err != nil {
		return binaries{}, err
	}
	if found.major < oldestPostgres {
		return binaries{}, fmt.Errorf("postgres %d in %s is older than %d", found.major, directory, oldestPostgres)
	}
	return found, nil
}

func majorVersion(ctx context.Context, program string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("ask %s for its version: %w", program, err)
	}
	match := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindSubmatch(output)
	if match == nil {
		return 0, fmt.Errorf("ask %s for its version: it says %q", program, output)
	}
	return strconv.Atoi(string(match[1]))
}

// say writes one line for a person; a reader that went away stops nothing.
func say(progress io.Writer, format string, arguments ...any) {
	_, _ = fmt.Fprintf(progress, format+"\n", arguments...)
}

var errNoBinaries = errors.New("no Postgres server programs were found")
