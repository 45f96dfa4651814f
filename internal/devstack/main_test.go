package devstack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/adjourn/adjourn/internal/devstack/filelock"
)

// victimVariable makes this test binary a process that starts one part, says
// that it runs, and waits to be killed.
const victimVariable = "ADJOURN_DEVSTACK_VICTIM"

func TestMain(m *testing.M) {
	if directory := os.Getenv(victimVariable); directory != "" {
		if err := beVictim(directory); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beVictim prints the URL of a server in directory and never stops it.
func beVictim(directory string) error {
	postgres, err := StartPostgres(context.Background(), PostgresOptions{Directory: directory, Disposable: true})
	if err != nil {
		return err
	}
	fmt.Println(postgres.URL)
	return <-postgres.Exited()
}

func lockForTest(t *testing.T, directory string) (unlock func()) {
	t.Helper()
	unlock, err := filelock.Try(filepath.Join(directory, "lock"))
	require.NoError(t, err)
	return unlock
}
