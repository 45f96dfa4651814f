package fileemitter

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// fullVariable holds the directory of the process that finds its disk full.
const fullVariable = "ADJOURN_TEST_FULL_DIRECTORY"

func TestMain(m *testing.M) {
	if directory := os.Getenv(fullVariable); directory != "" {
		emitOntoAFullDisk(directory)
		return
	}
	goleak.VerifyTestMain(m)
}
