# `make` alone lists what there is to make. Needed: Go, make, and a C compiler for
# the race detector. Everything else sets itself up, once, into .cache (moved by
# ADJOURN_CACHE).

GO ?= go
PINNED := $(GO) run ./internal/devstack/toolcache/build

# Go stamps the version control's state into programs. Where git refuses to tell
# it, as in a checkout of another user, every go command would fail instead.
ifneq ($(shell git status --porcelain >/dev/null 2>&1 && echo told),told)
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test lint build fmt tools clean temporal

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: build ## run everything on this machine with sample works, and judge the result
	@bin/adjourn demo

test: temporal ## run every test against a real Postgres and a real Temporal
	$(GO) test -race -shuffle=on -timeout 20m ./...

lint: ## check formatting, vet, lint, and the workflows' determinism
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted (make fmt does it):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	@linter=$$($(PINNED) golangci-lint) && echo golangci-lint run && "$$linter" run --allow-serial-runners
	@checker=$$($(PINNED) workflowcheck) && echo workflowcheck ./workflows/... && "$$checker" ./workflows/...

build: ## build bin/adjourn
	$(GO) build -o bin/adjourn ./cmd/adjourn

fmt: ## format the code and sort its imports
	@linter=$$($(PINNED) golangci-lint) && "$$linter" fmt

tools: ## build the pinned tools into the cache, all of them, once
	@$(PINNED) temporal golangci-lint workflowcheck gremlins

clean: ## remove what was built, downloaded and kept: bin and .cache
	rm -rf bin .cache

# The first build takes minutes, so it is done, and says so, before the tests.
temporal:
	@command -v temporal >/dev/null || $(PINNED) temporal >/dev/null
