package devstack

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// canJudgeProcesses tells whether servesFrom can answer here.
const canJudgeProcesses = true

// dieWithParent has the kernel send signal to the child when this process ends,
// a SIGKILL included.
func dieWithParent(attributes *syscall.SysProcAttr, signal syscall.Signal) {
	attributes.Pdeathsig = signal
}

// servesFrom tells whether process id is a Postgres server at work in directory.
// A process id in a file left behind may since belong to anything, in a
// container most likely to another server of ours, so the directory is compared.
func servesFrom(id int, directory string) bool {
	proc := "/proc/" + strconv.Itoa(id)
	current, err := os.Readlink(proc + "/cwd")
	if err == nil {
		return current == directory
	}
	if !errors.Is(err, fs.ErrPermission) {
		return false
	}
	// A container's root may not look into another user's process; its name is
	// the next best evidence.
	name, err := os.ReadFile(proc + "/comm")
	return err == nil && strings.TrimSpace(string(name)) == "postgres"
}
