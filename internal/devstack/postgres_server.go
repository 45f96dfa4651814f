package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// superuser is the role that initdb creates.
	superuser = "adjourn"
	// portAttempts is how often a free port may be taken by somebody else between
	// our finding it and the server's binding it.
	portAttempts = 5
	// readyInterval is how often a starting server is asked whether it is ready.
	readyInterval = 25 * time.Millisecond
	// connectTimeout bounds one such question.
	connectTimeout = 5 * time.Second
)

// launch starts the server, on another free port should the first be taken.
func launch(
	ctx context.Context, programs binaries, data *dataDirectory, options *PostgresOptions,
) (*process, string, error) {
	for attempt := 1; ; attempt++ {
		port := options.Port
		if port == 0 {
			free, err := freePort()
			if err != nil {
				return nil, "", err
			}
			port = free
		}
		server, err := startProcess("postgres", serverCommand(programs, data, port, options.Disposable),
			newTail(options.Log), syscall.SIGINT)
		if err != nil {
			return nil, "", err
		}
		address := serverURL(data.password, port)
		err = awaitReady(ctx, server, address)
		if err == nil {
			return server, address, nil
		}
		taken := strings.Contains(server.output.String(), "Address already in use")
		// Although ctx has ended, perhaps: a server half up deserves its clean end.
		err = errors.Join(err, stopServer(context.WithoutCancel(ctx), server))
		if !taken || options.Port != 0 || attempt == portAttempts {
			return nil, "", err
		}
	}
}

func serverCommand(programs binaries, data *dataDirectory, port int, disposable bool) *exec.Cmd {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(port),
		// No socket file: its path has a length limit and its directory an owner.
		"unix_socket_directories=",
		"max_connections=200",
		"shared_preload_libraries=",
		"logging_collector=off",
		"log_destination=stderr",
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if disposable {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	} else {
		settings = append(settings, "fsync=on", "synchronous_commit=on")
	}
	arguments := []string{"-D", data.path()}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	return data.command(programs.program("postgres"), arguments...)
}

// awaitReady waits until the server takes connections and holds Adjourn's
// database. The server's end ends the wait.
func awaitReady(ctx context.Context, server *process, address string) error {
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		err := createDatabase(ctx, address)
		if err == nil {
			return nil
		}
		if refused := new(pgconn.PgError); errors.As(err, &refused) && refused.Code != "57P03" {
			return err // it is up, and says no; 57P03 says that it is still starting
		}
		select {
		case <-server.done:
			return server.exitError()
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w (last: %w)", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// createDatabase makes Adjourn's database unless it is there. A first start that
// ended early may have left the server without it.
func createDatabase(ctx context.Context, address string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return err
	}
	config.Database = "postgres"
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(ctx)) }()
	var there bool
	if err := connection.QueryRow(ctx,
		"SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", databaseName).Scan(&there); err != nil || there {
		return err
	}
	_, err = connection.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{databaseName}.Sanitize())
	return err
}

func serverURL(password string, port int) string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     "/" + databaseName,
		RawQuery: "sslmode=disable",
	}
	return address.String()
}

// freePort is a port that was free a moment ago.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}

// serverEnvironment is for the Postgres programs: their messages in one language.
func serverEnvironment() []string {
	return append(environmentWithout("PG", "LC_", "LANG"), "LC_ALL=C")
}

// environmentWithout is this process's environment less the variables that start
// with one of the prefixes, which would point a server's program elsewhere.
func environmentWithout(prefixes ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(entry, prefix) })
	})
}
