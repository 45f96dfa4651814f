package httpemitter

import (
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// childVariable names what this program does instead of its tests, when it is the
// child of one.
const childVariable = "ADJOURN_TEST_CHILD"

// urlVariable is where a child emits to.
const urlVariable = "ADJOURN_TEST_URL"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "frozen":
		freezeBetweenConnectionAndWrite()
	case "proxied":
		emitByEnvironment()
	default:
		goleak.VerifyTestMain(m)
	}
}

// child is this program, doing something else.
func child(does, url string, environment ...string) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childVariable+"="+does, urlVariable+"="+url)
	command.Env = append(command.Env, environment...)
	return command
}
