package postgres

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/adjourn/adjourn/work"
)

// freezer stops a process from reading its socket once it has sent a certain
// statement, as a kernel does that stops the process.
type freezer struct {
	trace
	at string

	mutex  sync.Mutex
	thawed chan struct{} // nil while nothing is frozen
	armed  bool
}

func (freezer *freezer) TraceBatchStart(
	ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData,
) context.Context {
	freezer.mutex.Lock()
	defer freezer.mutex.Unlock()
	if freezer.armed && slices.ContainsFunc(data.Batch.QueuedQueries,
		func(query *pgx.QueuedQuery) bool { return query.SQL == freezer.at }) {
		freezer.thawed = make(chan struct{})
		freezer.armed = false
	}
	return ctx
}

func (freezer *freezer) arm() {
	freezer.mutex.Lock()
	defer freezer.mutex.Unlock()
	freezer.armed = true
}

func (freezer *freezer) thaw() {
	freezer.mutex.Lock()
	defer freezer.mutex.Unlock()
	if freezer.thawed != nil {
		close(freezer.thawed)
		freezer.thawed = nil
	}
}

func (freezer *freezer) wait() {
	freezer.mutex.Lock()
	thawed := freezer.thawed
	freezer.mutex.Unlock()
	if thawed != nil {
		<-thawed
	}
}

type frozenConn struct {
	net.Conn
	freezer *freezer
}

func (conn *frozenConn) Read(buffer []byte) (int, error) {
	conn.freezer.wait()
	return conn.Conn.Read(buffer)
}

// TestFrozenProcessHoldsNobodyUp: stopped between sending Begin and reading its
// answer, with more to send than any socket holds, it keeps neither a work nor the
// stream's number from the others (G2).
func TestFrozenProcessHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	lane := newLane(t)
	freezer := &freezer{at: beginSQL}
	store, _ := lane.traced(func(config *pgxpool.Config) {
		config.MaxConns = 1
		config.ConnConfig.Tracer = freezer
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &frozenConn{conn, freezer}, err
		}
	})
	defer freezer.thaw()
	payload := bytes.Repeat([]byte("x"), mebibyte)
	var ids []work.ID
	for _, result := range lane.store.SubmitAll(t.Context(), repeat(work.Submission{Flow: "f", Payload: payload}, 20)) {
		require.NoError(t, result.Err)
		ids = append(ids, result.ID)
	}
	lane.admit(work.Exempt, "w", ids...)
	_, err := store.Begin(t.Context(), beginOptions(work.Exempt, "w")) // has the statements prepared
	require.NoError(t, err)

	freezer.arm()
	answer := make(chan work.Begun, 1)
	go func() {
		begun, err := store.Begin(t.Context(), beginOptions(work.Exempt, "w", ids...))
		if err != nil {
			t.Errorf("begin: %v", err)
		}
		answer <- begun
	}()
	lane.eventually("the frozen process's works are begun", func() bool {
		return lane.get(ids[19]).State == work.Attempting
	})
	require.Equal(t, int64(21), lane.attempt(work.Override, lane.works("f", 1)[0]).Number)
	lane.expire(ids...)
	require.Equal(t, 20, lane.recover().LostAttempts)
	require.Empty(t, answer, "it is still frozen")
	freezer.thaw()
	begun := <-answer
	require.Len(t, begun.Attempts, 20)
	require.True(t, bytes.Equal(payload, begun.Attempts[19].Payload))
}
