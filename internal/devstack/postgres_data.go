package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/adjourn/adjourn/internal/devstack/filelock"
)

const (
	// temporaryPrefix starts the name of every temporary base directory.
	temporaryPrefix = "adjourn-postgres-"
	// sweepAge spares a directory whose maker has not locked it yet.
	sweepAge = time.Minute
	// orphanGrace is how long a killed process's server may take to shut down.
	orphanGrace = 30 * time.Second
	// orphanInterval is how often it is looked at.
	orphanInterval = 50 * time.Millisecond
)

// dataDirectory is what one server keeps on disk:
//
//	base/lock       held while the directory is in use
//	base/password   of the superuser, for the owner of base only
//	base/binaries   the programs, only where they were fetched and who runs them
//	                cannot reach the cache
//	base/data       the cluster, belonging to who runs the server
//	base/data.new   a cluster that initdb has not finished
//
// initdb works in data.new, which is renamed when it is done: a cluster under its
// final name is whole, and a half-made one is thrown away by the next start.
type dataDirectory struct {
	base      string
	temporary bool
	who       account
	password  string
	unlock    func()

	closeOnce sync.Once
	closeErr  error
}

func (data *dataDirectory) path() string { return filepath.Join(data.base, "data") }

// openDataDirectory makes or takes over the base directory and locks it.
func openDataDirectory(ctx context.Context, who account, options *PostgresOptions) (*dataDirectory, error) {
	data := &dataDirectory{base: options.Directory, temporary: options.Directory == "", who: who}
	if data.temporary {
		sweepTemporary(os.TempDir())
		base, err := os.MkdirTemp("", temporaryPrefix)
		if err != nil {
			return nil, err
		}
		data.base = base
	} else {
		absolute, err := filepath.Abs(data.base)
		if err != nil {
			return nil, err
		}
		data.base = absolute
		if err := os.MkdirAll(data.base, 0o711); err != nil {
			return nil, err
		}
	}
	// A link in the way would make the server's idea of its directory differ from
	// ours.
	base, err := filepath.EvalSymlinks(data.base)
	if err != nil {
		return nil, err
	}
	data.base = base
	// Whoever runs the server passes through base, but may not list it.
	if err := os.Chmod(data.base, 0o711); err != nil {
		return nil, err
	}
	unlock, err := filelock.Lock(ctx, filepath.Join(data.base, "lock"), func() {
		say(options.Progress, "waiting for another process that uses %s", data.base)
	})
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", data.base, err)
	}
	data.unlock = unlock
	return data, nil
}

// close releases the directory, and removes a temporary one.
func (data *dataDirectory) close() error {
	data.closeOnce.Do(func() {
		if data.temporary {
			data.closeErr = os.RemoveAll(data.base)
		}
		data.unlock()
	})
	return data.closeErr
}

// prepare leaves a whole cluster of the programs' version that no server uses.
func (data *dataDirectory) prepare(ctx context.Context, programs binaries, options *PostgresOptions) error {
	if barrier, err := data.who.barrier(data.base); err != nil {
		return err
	} else if barrier != "" {
		return fmt.Errorf("postgres cannot run as root, and user %s, who runs it instead, may not enter %s: "+
			"choose a data directory elsewhere, or allow it with chmod o+x", data.who.name, barrier)
	}
	if err := data.readPassword(); err != nil {
		return err
	}
	version, err := os.ReadFile(filepath.Join(data.path(), "PG_VERSION"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return data.initialise(ctx, programs, options)
	case err != nil:
		return err
	}
	if kept := strings.TrimSpace(string(version)); kept != strconv.Itoa(programs.major) {
		return fmt.Errorf("the data in %s was made by Postgres %s and %s holds Postgres %d: "+
			"remove the directory, or put Postgres %s first on PATH",
			data.base, kept, programs.directory, programs.major, kept)
	}
	return data.retireOrphan(ctx, options)
}

// readPassword takes the kept password or makes one.
func (data *dataDirectory) readPassword() error {
	path := filepath.Join(data.base, "password")
	kept, err := os.ReadFile(path)
	if err == nil && len(kept) > 0 {
		data.password = string(kept)
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data.password = rand.Text()
	return os.WriteFile(path, []byte(data.password), 0o600)
}

// initialise runs initdb.
func (data *dataDirectory) initialise(ctx context.Context, programs binaries, options *PostgresOptions) (err error) {
	partial := data.path() + ".new"
	if _, err := os.Stat(partial); err == nil {
		say(options.Progress, "starting over in %s: an earlier start ended before its database was complete", data.base)
	}
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Mkdir(partial, 0o700); err != nil {
		return err
	}
	// initdb reads the password as the borrowed user, so it gets a copy of its own.
	passwordFile := data.path() + ".password"
	if err := os.WriteFile(passwordFile, []byte(data.password), 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(passwordFile)) }()
	for _, path := range []string{partial, passwordFile} {
		if err := data.who.own(path); err != nil {
			return err
		}
	}
	arguments := []string{
		"-D", partial, "--username=" + superuser, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions",
	}
	if options.Disposable {
		arguments = append(arguments, "--no-sync")
	}
	output := newTail(options.Log)
	initdb, err := startProcess("initdb", data.command(programs.program("initdb"), arguments...),
		output, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-initdb.done:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("run initdb: %w", context.Cause(ctx)), initdb.stop(ctx))
	}
	if initdb.err != nil {
		return fmt.Errorf("run initdb as %s: %w: %s", data.who.name, initdb.err, strings.TrimSpace(output.String()))
	}
	return os.Rename(partial, data.path())
}

// retireOrphan sees to a server that a killed process left behind, alive or as a
// mere pid file. Nobody else can own it: the directory's lock is ours.
func (data *dataDirectory) retireOrphan(ctx context.Context, options *PostgresOptions) error {
	pidFile := filepath.Join(data.path(), "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(content), "\n")
	id, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		// Cut short by a full disk or a crash. Postgres would refuse it forever.
		return os.Remove(pidFile)
	}
	if !servesFrom(id, data.path()) {
		return data.dropStale(id, pidFile)
	}
	say(options.Progress, "shutting down the Postgres that an earlier run left behind (process %d)", id)
	// Linux has asked it already; once more does no harm.
	if err := syscall.Kill(id, syscall.SIGINT); err != nil && !gone(err) {
		return fmt.Errorf("stop the server left behind: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, orphanGrace)
	defer cancel()
	ticker := time.NewTicker(orphanInterval)
	defer ticker.Stop()
	for servesFrom(id, data.path()) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d, a Postgres left behind in %s, does not end: stop it by hand", id, data.base)
		case <-ticker.C:
		}
	}
	return nil
}

// dropStale removes the pid file of a process id that now belongs to somebody
// else: Postgres takes any living process for its predecessor and refuses. The
// file of an id that is free is left to Postgres, which checks more than we can.
func (data *dataDirectory) dropStale(id int, pidFile string) error {
	if !canJudgeProcesses || id <= 0 || gone(syscall.Kill(id, 0)) {
		return nil
	}
	return os.Remove(pidFile)
}

// command runs one of the programs as whoever owns the data, from a directory
// that this user may enter.
func (data *dataDirectory) command(program string, arguments ...string) *exec.Cmd {
	command := exec.Command(program, arguments...)
	command.Dir = "/"
	command.Env = serverEnvironment()
	command.SysProcAttr = &syscall.SysProcAttr{Credential: data.who.credential()}
	return command
}

// sweepTemporary removes what killed processes left in the temporary directory:
// base directories of this user that nobody has locked. What cannot be removed
// is the next one's to try, so errors are dropped.
func sweepTemporary(parent string) {
	// The pattern is a constant, so it is not malformed.
	left, _ := filepath.Glob(filepath.Join(parent, temporaryPrefix+"*"))
	for _, base := range left {
		info, err := os.Lstat(base)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < sweepAge ||
			int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
			continue
		}
		unlock, err := filelock.Try(filepath.Join(base, "lock"))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(base)
		unlock()
	}
}
