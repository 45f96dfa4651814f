// Command adjourn runs and operates the platform: it prepares the database and
// Temporal, runs workers and the server, hands works in and explains them.
//
// Results go to stdout, logs and complaints to stderr. The exit status is 0 when
// all went well, 1 when something failed, 2 when the command line or the
// configuration is wrong.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(mainStatus()) }

func mainStatus() int {
	// The first signal ends ctx and thereby the command, gracefully. From then on
	// signals have their default effect again, so that a second one ends the
	// process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	program := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	return program.run(ctx, os.Args[1:])
}
