package workflows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/adjourn/adjourn/internal/devstack"
	"github.com/adjourn/adjourn/workflows"
)

// record writes the histories that are missing, from a real Temporal server. Old
// ones are kept: they are what may be running somewhere.
var record = flag.Bool("record", false, "record what is missing in workflows/testdata/histories")

const histories = "testdata/histories"

func historyFile(path path) string {
	return filepath.Join(histories, path.workflow, path.name+".json")
}

// TestHistoriesAreRecorded holds the recorded histories to the paths: each path
// has one, and none is left over. With -record it makes the missing ones.
func TestHistoriesAreRecorded(t *testing.T) {
	t.Parallel()
	if *record {
		recordMissing(t)
	}
	var wanted []string
	for _, path := range paths() {
		wanted = append(wanted, historyFile(path))
	}
	require.ElementsMatch(t, wanted, historyFiles(t))
}

func historyFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(histories, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, name)
		}
		return err
	}))
	return files
}

// startTemporal starts a server with the search attributes registered and
// returns a client of it.
func startTemporal(t *testing.T) client.Client {
	t.Helper()
	server, err := devstack.StartTemporal(t.Context(), devstack.TemporalOptions{Progress: os.Stderr})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
	})
	temporalClient, err := client.DialContext(t.Context(), client.Options{
		HostPort: server.HostPort, Namespace: server.Namespace, Identity: "recorder",
		Logger: quiet(),
	})
	require.NoError(t, err)
	t.Cleanup(temporalClient.Close)
	_, err = temporalClient.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
		SearchAttributes: workflows.SearchAttributes(), Namespace: server.Namespace,
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		missing, err := workflows.SearchAttributesMissing(t.Context(), temporalClient, server.Namespace)
		return err == nil && len(missing) == 0
	}, time.Minute, 50*time.Millisecond)
	return temporalClient
}

func recordMissing(t *testing.T) {
	t.Helper()
	temporalClient := startTemporal(t)
	for _, path := range paths() {
		if _, err := os.Stat(historyFile(path)); os.IsNotExist(err) {
			recordOne(t, temporalClient, path)
		}
	}
}

func recordOne(t *testing.T, temporalClient client.Client, path path) {
	t.Helper()
	// A task queue of its own lets each path have a worker with its own script.
	queue := "record/" + path.workflow + "/" + path.name
	script := newScript(path.answers)
	recorder := worker.New(temporalClient, queue, worker.Options{})
	registerAll(recorder, script)
	require.NoError(t, recorder.Start())
	defer recorder.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run, err := temporalClient.ExecuteWorkflow(ctx,
		client.StartWorkflowOptions{ID: queue, TaskQueue: queue}, path.workflow, path.input)
	require.NoError(t, err)
	requireResult(t, path, func(result any) error { return run.Get(ctx, result) })
	script.requirePlayed(t)
	writeHistory(t, path, fetchHistory(ctx, t, temporalClient, run))
}

func fetchHistory(ctx context.Context, t *testing.T, temporalClient client.Client, run client.WorkflowRun) *history.History {
	t.Helper()
	var recorded history.History
	events := temporalClient.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		recorded.Events = append(recorded.Events, event)
	}
	return &recorded
}

func writeHistory(t *testing.T, path path, recorded *history.History) {
	t.Helper()
	marshalled, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(recorded)
	require.NoError(t, err)
	// The marshaller varies its white space on purpose.
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, marshalled, "", " "))
	machine, err := os.Hostname()
	require.NoError(t, err)
	// Names of workers' own task queues hold the machine's.
	content := strings.ReplaceAll(indented.String(), machine, "recorder")
	file := historyFile(path)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(strings.TrimSpace(content)+"\n"), 0o644))
}
