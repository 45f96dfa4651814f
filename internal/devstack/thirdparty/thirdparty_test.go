package thirdparty

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a wait for something that must happen.
const patience = 30 * time.Second

func start(t *testing.T, options Options) *ThirdParty {
	t.Helper()
	party, err := Start(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, party.Stop(context.Background())) })
	return party
}

// client has no connections left when the test ends.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

type emission struct {
	work, key, lane, stream string
	number                  int64
}

// emit makes one attempt the way Adjourn's emitter does.
func emit(t *testing.T, client *http.Client, party *ThirdParty, sent emission) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, party.URL+"/works", strings.NewReader("body"))
	require.NoError(t, err)
	request.Header.Set(HeaderIdempotencyKey, sent.key)
	request.Header.Set(HeaderWork, sent.work)
	request.Header.Set(HeaderFlow, "invoice")
	request.Header.Set(HeaderLane, sent.lane)
	request.Header.Set(HeaderStream, sent.stream)
	request.Header.Set(HeaderNumber, strconv.FormatInt(sent.number, 10))
	return client.Do(request)
}

// unanswered is emit for an attempt that must not be answered.
func unanswered(t *testing.T, client *http.Client, party *ThirdParty, sent emission) error {
	t.Helper()
	response, err := emit(t, client, party, sent)
	if err == nil {
		require.NoError(t, response.Body.Close())
	}
	require.Error(t, err)
	return err
}

// answerTo is emit for an attempt that must be answered.
func answerTo(t *testing.T, client *http.Client, party *ThirdParty, sent emission) (status int, body string) {
	t.Helper()
	response, err := emit(t, client, party, sent)
	require.NoError(t, err)
	content, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	return response.StatusCode, string(content)
}

// TestArrivalIsLoggedInFull, in memory, in the file and over HTTP alike.
func TestArrivalIsLoggedInFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "arrivals.jsonl")
	party := start(t, Options{LogFile: path})
	before := time.Now()
	status, body := answerTo(t, client(t), party, emission{"7", "key-7", "governed", "invoice", 3})
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"reference":"TP-000001"}`, body)

	arrivals := party.Arrivals()
	require.Len(t, arrivals, 1)
	require.WithinRange(t, arrivals[0].At, before, time.Now())
	require.Equal(t, Arrival{
		At: arrivals[0].At, Work: "7", Lane: "governed", Flow: "invoice", Stream: "invoice", Number: 3,
		IdempotencyKey: "key-7", Answer: http.StatusOK, Effect: true,
	}, arrivals[0])
	line := `{"at":"` + arrivals[0].At.Format(time.RFC3339Nano) + `","work":"7","lane":"governed","flow":"invoice",` +
		`"stream":"invoice","number":3,"idempotency_key":"key-7","answer":200,"effect":true}` + "\n"
	require.True(t, strings.HasSuffix(arrivals[0].At.Format(time.RFC3339Nano), "Z"), "instants are in UTC")
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, line, string(written))
	response, err := client(t).Get(party.URL + "/arrivals")
	require.NoError(t, err)
	listed, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	require.Equal(t, line, string(listed))
}

// TestArrivalIsLoggedBeforeTheBody: the attempt counts from its headers on, even
// if the client never finishes.
func TestArrivalIsLoggedBeforeTheBody(t *testing.T) {
	t.Parallel()
	party := start(t, Options{})
	connection, err := net.Dial("tcp", strings.TrimPrefix(party.URL, "http://"))
	require.NoError(t, err)
	_, err = io.WriteString(connection,
		"POST /works HTTP/1.1\r\nHost: third\r\nContent-Length: 1000\r\nAdjourn-Work: 9\r\n\r\n")
	require.NoError(t, err)
	waitFor(t, party, 1)
	require.Equal(t, "9", party.Arrivals()[0].Work)
	require.NoError(t, connection.Close())
}

func waitFor(t *testing.T, party *ThirdParty, count int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, party.WaitFor(ctx, func(arrivals []Arrival) bool { return len(arrivals) >= count }))
}

// TestKeyTakesEffectOnce: a repeat is answered the same and changes nothing; a
// refusal is no effect, so that the repeat after it is the first.
func TestKeyTakesEffectOnce(t *testing.T) {
	t.Parallel()
	party, caller := start(t, Options{}), client(t)
	require.NoError(t, party.Behave(Behaviour{Kind: KindAnswer, Status: 500, Requests: 1}))
	var answers []string
	for range 3 {
		_, body := answerTo(t, caller, party, emission{work: "1", key: "a"})
		answers = append(answers, body)
	}
	answerTo(t, caller, party, emission{work: "2", key: "b"})
	require.JSONEq(t, `{"error":"Internal Server Error"}`, answers[0])
	require.JSONEq(t, `{"reference":"TP-000001"}`, answers[1])
	require.Equal(t, answers[1], answers[2])
	var effects []bool
	for _, arrival := range party.Arrivals() {
		effects = append(effects, arrival.Effect)
	}
	require.Equal(t, []bool{false, true, false, true}, effects)
	require.Empty(t, party.DuplicateEffects())
}

// TestWithoutAKeyNothingIsRecognised: each acceptance is a new one.
func TestWithoutAKeyNothingIsRecognised(t *testing.T) {
	t.Parallel()
	party, caller := start(t, Options{}), client(t)
	_, first := answerTo(t, caller, party, emission{work: "1"})
	_, second := answerTo(t, caller, party, emission{work: "1"})
	require.NotEqual(t, first, second)
	require.Equal(t, []string{"1"}, party.DuplicateEffects())
}

// TestLogIsContinued: what was accepted before a restart is recognised after it,
// and a line that a crash cut short is dropped.
func TestLogIsContinued(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "arrivals.jsonl")
	first, caller := start(t, Options{LogFile: path}), client(t)
	_, before := answerTo(t, caller, first, emission{work: "1", key: "a"})
	require.NoError(t, first.Stop(t.Context()))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"at":"2026-`)
	require.NoError(t, errors.Join(err, file.Close()))

	second := start(t, Options{LogFile: path})
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(whole, []byte("}\n")), "log:\n%s", whole)
	require.Len(t, second.Arrivals(), 1)
	_, after := answerTo(t, caller, second, emission{work: "1", key: "a"})
	require.Equal(t, before, after)
	require.False(t, second.Arrivals()[1].Effect)
	require.NoError(t, second.Stop(t.Context()))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(written, []byte("\n")), "log:\n%s", written)
}

// TestLogThatIsNoneIsRefused, naming the line.
func TestLogThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "arrivals.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{}\nnonsense\n"), 0o600))
	_, err := Start(Options{LogFile: path})
	require.ErrorContains(t, err, "line 2")
}

// TestLostLogIsReported: an arrival that could not be written is no secret.
func TestLostLogIsReported(t *testing.T) {
	t.Parallel()
	party, err := Start(Options{LogFile: filepath.Join(t.TempDir(), "arrivals.jsonl")})
	require.NoError(t, err)
	require.NoError(t, party.register.log.Close())
	answerTo(t, client(t), party, emission{work: "1"})
	require.ErrorContains(t, party.Stop(t.Context()), "log an arrival")
}

// TestBehaviours: what each looks like from the client's side.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	party, caller := start(t, Options{}), client(t)
	force := func(behaviour Behaviour) {
		behaviour.Requests = 1
		require.NoError(t, party.Behave(behaviour))
	}
	last := func() Arrival {
		arrivals := party.Arrivals()
		return arrivals[len(arrivals)-1]
	}

	force(Behaviour{Kind: KindAnswer, Status: 429, RetryAfter: "a while"})
	response, err := emit(t, caller, party, emission{key: "limit"})
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Equal(t, "a while", response.Header.Get("Retry-After"))
	require.Equal(t, http.StatusTooManyRequests, last().Answer)
	require.False(t, last().Effect)

	force(Behaviour{Kind: KindCutBeforeStatus})
	err = unanswered(t, caller, party, emission{key: "cut"})
	require.True(t, errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF), "got %v", err)
	require.Zero(t, last().Answer)
	require.False(t, last().Effect)

	force(Behaviour{Kind: KindCutBeforeStatus, AcceptsAnyway: true})
	require.Error(t, unanswered(t, caller, party, emission{key: "cut"}))
	require.True(t, last().Effect)
	status, _ := answerTo(t, caller, party, emission{key: "cut"})
	require.Equal(t, http.StatusOK, status)
	require.False(t, last().Effect, "it had been accepted, unknown to the client")

	force(Behaviour{Kind: KindCutAfterStatus, Status: 201})
	response, err = emit(t, caller, party, emission{key: "half"})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, response.StatusCode)
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, response.Body.Close())
	require.True(t, last().Effect)

	force(Behaviour{Kind: KindHang, For: time.Millisecond})
	require.ErrorIs(t, unanswered(t, caller, party, emission{key: "hang"}), io.EOF)
	require.Zero(t, last().Answer)

	force(Behaviour{Kind: KindAccept, Latency: 30 * time.Millisecond})
	begun := time.Now()
	answerTo(t, caller, party, emission{key: "slow"})
	require.GreaterOrEqual(t, time.Since(begun), 30*time.Millisecond)
	require.Empty(t, party.Behaviours(), "every one was for one request")
}

// TestHangEndsWithStop, and with the client.
func TestHangEndsWithStop(t *testing.T) {
	t.Parallel()
	party, caller := start(t, Options{}), client(t)
	require.NoError(t, party.Behave(Behaviour{Kind: KindHang}))
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, lifetime := range []context.Context{ctx, t.Context()} {
		request, err := http.NewRequestWithContext(lifetime, http.MethodPost, party.URL, nil)
		require.NoError(t, err)
		group.Go(func() {
			if response, err := caller.Do(request); err == nil {
				t.Errorf("got status %d, want no answer", response.StatusCode)
				_ = response.Body.Close()
			}
		})
	}
	waitFor(t, party, 2)
	leave()
	require.NoError(t, party.Stop(t.Context()))
	group.Wait()
	require.Error(t, party.WaitFor(t.Context(), func([]Arrival) bool { return false }),
		"nothing more will arrive after Stop")
}

// TestLanesBehaveApart: the lane's own goes first, and is counted alone.
func TestLanesBehaveApart(t *testing.T) {
	t.Parallel()
	party, caller := start(t, Options{}), client(t)
	require.NoError(t, party.Behave(Behaviour{Kind: KindAnswer, Status: 503}))
	require.NoError(t, party.Behave(Behaviour{Kind: KindAnswer, Status: 418, Lane: "governed", Requests: 2}))
	status := func(lane string) int {
		code, _ := answerTo(t, caller, party, emission{lane: lane})
		return code
	}
	require.Equal(t, 418, status("governed"))
	require.Equal(t, 503, status("override"))
	require.Equal(t, 418, status("governed"))
	require.Equal(t, 503, status("governed"), "used up")
	party.Reset()
	require.Equal(t, 200, status("governed"))
}

// TestControlOverHTTP: another process can do the same, and hears what is wrong.
func TestControlOverHTTP(t *testing.T) {
	t.Parallel()
	party, caller := start(t, Options{}), client(t)
	call := func(method, body string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, party.URL+"/control", strings.NewReader(body))
		require.NoError(t, err)
		response, err := caller.Do(request)
		require.NoError(t, err)
		content, err := io.ReadAll(response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		return response.StatusCode, string(content)
	}
	want := `[{"kind":"hang","latency":"250ms","for":"1m0s","lane":"exempt","requests":3,"accepts_anyway":true}]`
	status, body := call(http.MethodPost, strings.Trim(want, "[]"))
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, want, body)
	require.Equal(t, []Behaviour{{
		Kind: KindHang, Latency: 250 * time.Millisecond, For: time.Minute, Lane: "exempt", Requests: 3, AcceptsAnyway: true,
	}}, party.Behaviours())
	_, body = call(http.MethodGet, "")
	require.JSONEq(t, want, body)

	for sent, complaint := range map[string]string{
		`{"kind":"explode"}`:                          `behaviour kind \"explode\": accepted are accept, answer`,
		`{"kind":"answer","status":99}`:               `behaviour status \"99\": accepted are 200 to 599`,
		`{"kind":"accept","status":500}`:              `behaviour status \"500\"`,
		`{"kind":"accept","latency":"soon"}`:          `behaviour latency \"soon\": accepted are durations`,
		`{"kind":"accept","latency":"-1s"}`:           `behaviour latency`,
		`{"kind":"accept","for":"1s"}`:                `behaviour for`,
		`{"kind":"accept","lane":"fast"}`:             `behaviour lane \"fast\": accepted are governed, override, exempt and none`,
		`{"kind":"accept","requests":-1}`:             `behaviour requests`,
		`{"kind":"accept","retry_after":"1"}`:         `behaviour retry_after`,
		`{"kind":"answer","retry_after":"1\r\nX: y"}`: `behaviour retry_after`,
		`{"kind":"accept","accepts_anyway":true}`:     `behaviour accepts_anyway`,
		`{"kind":"accept","retryafter":"1"}`:          `unknown field`,
	} {
		status, body := call(http.MethodPost, sent)
		require.Equal(t, http.StatusBadRequest, status, sent)
		require.Contains(t, body, complaint, sent)
	}
	_, body = call(http.MethodGet, "")
	require.JSONEq(t, want, body, "what is refused changes nothing")
	status, body = call(http.MethodDelete, "")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, "[]", body)
	require.Empty(t, party.Arrivals(), "control is no emission")
}

// TestConcurrentArrivals: none is lost, and file and memory agree on the order.
func TestConcurrentArrivals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "arrivals.jsonl")
	party, caller := start(t, Options{LogFile: path}), client(t)
	const callers, each = 8, 25
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for i := range each {
				response, err := emit(t, caller, party, emission{key: strconv.Itoa(i), work: strconv.Itoa(i)})
				if err != nil {
					t.Error(err)
					return
				}
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	waitFor(t, party, callers*each)
	group.Wait()
	require.Len(t, party.Arrivals(), callers*each)
	effects := 0
	for _, arrival := range party.Arrivals() {
		if arrival.Effect {
			effects++
		}
	}
	require.Equal(t, each, effects, "one for each key")
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	lines := bufio.NewScanner(file)
	for _, want := range party.Arrivals() {
		require.True(t, lines.Scan())
		var logged Arrival
		require.NoError(t, json.Unmarshal(lines.Bytes(), &logged))
		require.Equal(t, want, logged)
	}
	require.False(t, lines.Scan())
}

// TestWaitForGivesUpWithItsContext, telling how far it came.
func TestWaitForGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	party := start(t, Options{})
	answerTo(t, client(t), party, emission{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := party.WaitFor(ctx, func([]Arrival) bool { return false })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "1 so far")
}

// TestExitIsReported when nobody asked for it, and not otherwise.
func TestExitIsReported(t *testing.T) {
	t.Parallel()
	stopped := start(t, Options{})
	require.NoError(t, stopped.Stop(t.Context()))
	require.NoError(t, <-stopped.Exited())
	crashed := start(t, Options{})
	require.NoError(t, crashed.listener.Close())
	select {
	case err := <-crashed.Exited():
		require.ErrorContains(t, err, "the third party ended by itself")
	case <-time.After(patience):
		require.Fail(t, "the crash was not reported")
	}
}

// TestAddressInUseIsRefused.
func TestAddressInUseIsRefused(t *testing.T) {
	t.Parallel()
	party := start(t, Options{})
	_, err := Start(Options{Address: strings.TrimPrefix(party.URL, "http://")})
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}
