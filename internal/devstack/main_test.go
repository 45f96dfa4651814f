package devstack

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/adjourn/adjourn/internal/devstack/filelock"
)

// victimVariable makes this test binary a process that starts the part it
// names, prints its address, and waits to be killed.
const victimVariable = "ADJOURN_DEVSTACK_VICTIM"

func TestMain(m *testing.M) {
	if part := os.Getenv(victimVariable); part != "" {
		if err := beVictim(part); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beVictim starts "temporal", or a Postgres in the directory that part names,
// and never stops it.
func beVictim(part string) error {
	if part == "temporal" {
		temporal, err := StartTemporal(context.Background(), TemporalOptions{})
		if err != nil {
			return err
		}
		fmt.Println(temporal.HostPort)
		return <-temporal.Exited()
	}
	postgres, err := StartPostgres(context.Background(), PostgresOptions{Directory: part, Disposable: true})
	if err != nil {
		return err
	}
	fmt.Println(postgres.URL)
	return <-postgres.Exited()
}

// startVictim returns a process that started part, and the address it printed.
func startVictim(t *testing.T, part string) (victim *exec.Cmd, address string) {
	t.Helper()
	victim = exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"="+part)
	victim.Stderr = t.Output()
	output, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	return victim, strings.TrimSpace(line)
}

func lockForTest(t *testing.T, directory string) (unlock func()) {
	t.Helper()
	unlock, err := filelock.Try(filepath.Join(directory, "lock"))
	require.NoError(t, err)
	return unlock
}
