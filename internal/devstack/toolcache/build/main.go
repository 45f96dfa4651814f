// Command build prints the path of a program pinned in tools/go.mod, building it
// first when the cache does not hold it. The Makefile calls it.
//
//	go run ./internal/devstack/toolcache/build golangci-lint
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/adjourn/adjourn/internal/devstack/toolcache"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(names []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(names) == 0 {
		return fmt.Errorf("usage: build TOOL…, where TOOL is a program pinned in tools/go.mod")
	}
	for _, name := range names {
		tool, err := toolcache.Find(name)
		if err != nil {
			return err
		}
		path, err := toolcache.Build(ctx, tool, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}
