package devstack

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// patience bounds a wait for something that must happen.
const patience = time.Minute

func startPostgres(t *testing.T, options PostgresOptions) *Postgres {
	t.Helper()
	options.Log, options.Progress = t.Output(), t.Output()
	postgres, err := StartPostgres(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, postgres.Stop(context.Background())) })
	return postgres
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	connection, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close(context.Background())) })
	return connection
}

func ask(t *testing.T, connection *pgx.Conn, question string) string {
	t.Helper()
	var answer string
	require.NoError(t, connection.QueryRow(t.Context(), question).Scan(&answer))
	return answer
}

// keptDirectory is below the system's temporary directory, which every user may
// enter: t.TempDir is for its owner alone.
func keptDirectory(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "adjourn-kept-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(directory)) })
	return directory
}

func requireStopped(t *testing.T, exited <-chan error) {
	t.Helper()
	select {
	case err, open := <-exited:
		require.False(t, open, "an exit that was asked for is no news, got %v", err)
	case <-time.After(patience):
		require.Fail(t, "still running")
	}
}

// TestTemporaryPostgres: durable unless told otherwise, closed to those without
// the password, and gone without a trace.
func TestTemporaryPostgres(t *testing.T) {
	t.Parallel()
	postgres := startPostgres(t, PostgresOptions{})
	connection := connect(t, postgres.URL)
	require.Equal(t, databaseName, ask(t, connection, "SELECT current_database()"))
	require.Equal(t, "on on", ask(t, connection,
		"SELECT current_setting('fsync') || ' ' || current_setting('synchronous_commit')"))
	require.Equal(t, "200", ask(t, connection, "SHOW max_connections"))
	require.Equal(t, strconv.Itoa(postgres.Version),
		ask(t, connection, "SELECT (current_setting('server_version_num')::int / 10000)::text"))

	guess, err := url.Parse(postgres.URL)
	require.NoError(t, err)
	guess.User = url.UserPassword(superuser, "guess")
	_, err = pgx.Connect(t.Context(), guess.String())
	require.ErrorContains(t, err, "28P01", "a wrong password must be refused")

	require.NoError(t, connection.Close(t.Context()))
	require.DirExists(t, postgres.data.base)
	require.NoError(t, postgres.Stop(t.Context()))
	require.NoDirExists(t, postgres.data.base)
	requireStopped(t, postgres.Exited())
}

// TestDisposablePostgres gives up durability, and only then.
func TestDisposablePostgres(t *testing.T) {
	t.Parallel()
	connection := connect(t, startPostgres(t, PostgresOptions{Disposable: true}).URL)
	require.Equal(t, "off", ask(t, connection, "SHOW fsync"))
}

// TestKeptPostgresSurvivesItsCrash: the exit is reported with what the server
// said, and the next start on the directory finds the data.
func TestKeptPostgresSurvivesItsCrash(t *testing.T) {
	t.Parallel()
	directory := keptDirectory(t)
	first := startPostgres(t, PostgresOptions{Directory: directory})
	connection := connect(t, first.URL)
	_, err := connection.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'here' AS word")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(first.server.command.Process.Pid, syscall.SIGKILL))
	select {
	case err := <-first.Exited():
		require.ErrorContains(t, err, "postgres ended by itself (signal: killed)")
	case <-time.After(patience):
		require.Fail(t, "the crash was not reported")
	}
	require.NoError(t, first.Stop(t.Context()))

	// A pid file whose number belongs to another living process, as after a
	// container's restart. Not to this one, and to a process of the same user:
	// Postgres takes neither its own parent nor a stranger's process for its
	// predecessor.
	bystander := exec.Command("sleep", "1000")
	bystander.Dir = "/"
	bystander.SysProcAttr = &syscall.SysProcAttr{Credential: first.data.who.credential()}
	require.NoError(t, bystander.Start())
	t.Cleanup(func() {
		require.NoError(t, bystander.Process.Kill())
		require.Error(t, bystander.Wait())
	})
	pidFile := filepath.Join(directory, "data", "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	require.NoError(t, err, "a killed server leaves its pid file")
	_, rest, _ := strings.Cut(string(content), "\n")
	require.NoError(t, os.WriteFile(pidFile, []byte(strconv.Itoa(bystander.Process.Pid)+"\n"+rest), 0o600))

	second := startPostgres(t, PostgresOptions{Directory: directory})
	require.Equal(t, "here", ask(t, connect(t, second.URL), "SELECT word FROM kept"))
}

// TestPostgresDiesWithItsProcess: after a SIGKILL of the process that started
// it, the server ends, and the directory is usable at once.
func TestPostgresDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	directory := keptDirectory(t)
	victim, address := startVictim(t, directory)
	connection := connect(t, address)
	_, err := connection.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'here' AS word")
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(directory, "data", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(content), "\n")
	id, err := strconv.Atoi(first)
	require.NoError(t, err)
	require.Equal(t, canJudgeProcesses, servesFrom(id, filepath.Join(directory, "data")))

	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())
	if canJudgeProcesses { // elsewhere the next start sees to it
		require.Eventually(t, func() bool { return !servesFrom(id, filepath.Join(directory, "data")) },
			patience, 20*time.Millisecond, "the server outlives its process")
	}
	next := startPostgres(t, PostgresOptions{Directory: directory, Disposable: true})
	require.Equal(t, "here", ask(t, connect(t, next.URL), "SELECT word FROM kept"))
}

// TestOrphanIsRetired: a server that lives on in a directory nobody holds is
// shut down before the next one starts there.
func TestOrphanIsRetired(t *testing.T) {
	t.Parallel()
	directory := keptDirectory(t)
	orphan := startPostgres(t, PostgresOptions{Directory: directory, Disposable: true})
	connection := connect(t, orphan.URL)
	_, err := connection.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'here' AS word")
	require.NoError(t, err)
	orphan.data.unlock()
	next := startPostgres(t, PostgresOptions{Directory: directory, Disposable: true})
	require.Equal(t, "here", ask(t, connect(t, next.URL), "SELECT word FROM kept"))
	select {
	case err := <-orphan.Exited():
		require.ErrorContains(t, err, "exit status 0", "a fast shutdown, not a kill")
	case <-time.After(patience):
		require.Fail(t, "two servers on one directory")
	}
}

// TestHalfMadeClusterIsStartedOver: what initdb did not finish is thrown away.
func TestHalfMadeClusterIsStartedOver(t *testing.T) {
	t.Parallel()
	directory := keptDirectory(t)
	half := filepath.Join(directory, "data.new")
	require.NoError(t, os.MkdirAll(filepath.Join(half, "base"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600))
	postgres := startPostgres(t, PostgresOptions{Directory: directory, Disposable: true})
	require.Equal(t, "1", ask(t, connect(t, postgres.URL), "SELECT '1'"))
	require.NoDirExists(t, half)
	require.NoFileExists(t, filepath.Join(directory, "data.password"))
}

// TestDirectoryOfAnotherVersionIsRefused, with what to do about it.
func TestDirectoryOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	directory := keptDirectory(t)
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "data"), 0o711))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "data", "PG_VERSION"), []byte("9\n"), 0o600))
	_, err := StartPostgres(t.Context(), PostgresOptions{Directory: directory})
	require.ErrorContains(t, err, "was made by Postgres 9")
	require.ErrorContains(t, err, "remove the directory")
}

// TestDirectoryInUseIsWaitedFor: never two servers on one directory.
func TestDirectoryInUseIsWaitedFor(t *testing.T) {
	t.Parallel()
	directory := keptDirectory(t)
	startPostgres(t, PostgresOptions{Directory: directory, Disposable: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := onWrite(func(line string) {
		if strings.Contains(line, "waiting for another process that uses "+directory) {
			cancel()
		}
	})
	_, err := StartPostgres(ctx, PostgresOptions{Directory: directory, Progress: told})
	require.ErrorIs(t, err, context.Canceled)
}

type onWrite func(line string)

func (call onWrite) Write(text []byte) (int, error) {
	call(string(text))
	return len(text), nil
}

// TestClosedDirectoryIsNamed: a borrowed user that cannot come in is told where
// it was stopped.
func TestClosedDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(keptDirectory(t), "closed")
	require.NoError(t, os.MkdirAll(filepath.Join(closed, "open"), 0o755))
	require.NoError(t, os.Chmod(closed, 0o700))
	stranger := account{name: "stranger", uid: 4_000_000_001, gid: 4_000_000_001, borrowed: true}
	barrier, err := stranger.barrier(filepath.Join(closed, "open"))
	require.NoError(t, err)
	require.Equal(t, closed, barrier)
	require.NoError(t, os.Chmod(closed, 0o711))
	require.NoError(t, os.Chmod(filepath.Dir(closed), 0o711))
	barrier, err = stranger.barrier(filepath.Join(closed, "open"))
	require.NoError(t, err)
	require.Empty(t, barrier)
}

// TestSweepSparesWhatIsInUse removes what killed runs left and nothing else.
func TestSweepSparesWhatIsInUse(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	old := time.Now().Add(-2 * sweepAge)
	directory := func(name string) string {
		path := filepath.Join(parent, name)
		require.NoError(t, os.MkdirAll(filepath.Join(path, "data"), 0o700))
		return path
	}
	left, used, fresh, other := directory(temporaryPrefix+"left"), directory(temporaryPrefix+"used"),
		directory(temporaryPrefix+"fresh"), directory("other")
	unlock := lockForTest(t, used)
	defer unlock()
	for _, path := range []string{left, used, other} {
		require.NoError(t, os.Chtimes(path, old, old))
	}
	sweepTemporary(parent)
	require.NoDirExists(t, left)
	require.DirExists(t, used)
	require.DirExists(t, fresh)
	require.DirExists(t, other)
}
