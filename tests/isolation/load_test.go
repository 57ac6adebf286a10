// SPDX-License-Identifier: MIT

package isolation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

const loadClients = 200

// A load of 200 clients that mix all routes, stream, leave in the middle and send wrong requests:
// no error but the 429s of a full queue, and in the end no goroutine and no memory of it is left.
// PENSTOCK_TEST_SEED repeats a load.
func TestHost_Load_AllRoutes(t *testing.T) {
	requests := steadytest.InLongTest(1000, 15) // of each client
	seed := steadytest.Seed(t)
	h := hosts.Open(t, map[string]any{"scheduler.cache_ram": "32MiB", "scheduler.max_queue": 64, "rerank.model": hosts.SmallModel(t, "reranker")})
	hosts.Run(t, h)
	l := newTraffic(h)
	l.run(t, loadClients, 3, seed) // what is made once is there from now on
	heap, goroutines := footprint(l)
	hosts.Await(t, func() bool { // connections close on the other side too
		before := goroutines
		heap, goroutines = footprint(l)
		return goroutines == before
	})
	l.run(t, loadClients, requests, seed+1)
	heapAfter, left := footprint(l)
	for until := time.Now().Add(time.Minute); (left > goroutines || heapAfter > heap+16<<20) && time.Now().Before(until); {
		heapAfter, left = footprint(l)
	}
	t.Logf("%d requests: %v; heap %d -> %d KiB", l.sum(), l.counts, heap>>10, heapAfter>>10)
	if heapAfter > heap+16<<20 || left > goroutines {
		t.Errorf("the heap had %d KiB before the load and has %d after; %d goroutines, and %d after", heap>>10, heapAfter>>10, goroutines, left)
	}
	if n := l.sum(); n != loadClients*(3+requests) || l.counts["200"] < n/10 { // what a full queue refuses is a part of the rest
		t.Errorf("%d requests, %d answers", n, l.counts["200"])
	}
}

// footprint is the memory in use and the goroutines, once the load's connections are closed.
func footprint(l *traffic) (heap uint64, goroutines int) {
	l.client.CloseIdleConnections()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// traffic is many clients of one host.
type traffic struct {
	h      *host.Host
	client *http.Client
	bodies []trafficBody
	gets   []string

	mu     sync.Mutex
	counts map[string]int // requests by how they ended
}

type trafficBody struct{ path, body string }

func newTraffic(h *host.Host) *traffic {
	l := &traffic{h: h, counts: map[string]int{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadClients}},
		gets: []string{"/health", "/livez", "/readyz", "/props", "/slots", "/v1/models", "/metrics", "/v1/plugins", "/api/tags", "/api/version"}}
	for _, path := range slices.Sorted(maps.Keys(goodBodies)) {
		if path == "/infill" {
			continue // the built-in model cannot
		}
		l.bodies = append(l.bodies, trafficBody{path, goodBodies[path]})
	}
	return l
}

func (l *traffic) sum() (n int) {
	for _, c := range l.counts {
		n += c
	}
	return n
}

// run has each of many clients send n requests, unless one ends as it should not.
func (l *traffic) run(t *testing.T, many, n int, seed uint64) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	for i := range many {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), seed))
			for range n {
				if ctx.Err() != nil {
					return
				}
				what, err := l.one(ctx, rng)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					stop()
				}
				l.mu.Lock()
				l.counts[what]++
				l.mu.Unlock()
			}
		})
	}
	clients.Wait()
}

// one sends one request and tells how it ended. The error is that of an answer which should not be.
func (l *traffic) one(ctx context.Context, rng *rand.Rand) (what string, err error) {
	b := l.bodies[rng.IntN(len(l.bodies))]
	switch rng.IntN(8) {
	case 0:
		return l.do(ctx, http.MethodGet, l.gets[rng.IntN(len(l.gets))], "", false, 200)
	case 1:
		return l.do(ctx, http.MethodPost, b.path, strings.Replace(b.body, "{", `{"temperature":"hot","content":5,"tokens":5,"options":5,"model":5,`, 1), false, 400)
	case 2:
		return l.socket(ctx, rng)
	case 3, 4:
		return l.do(ctx, http.MethodPost, b.path, streaming(b.body, rng), true, 200)
	}
	return l.do(ctx, http.MethodPost, b.path, b.body, false, 200)
}

// streaming is a body that asks for a stream of some tokens.
func streaming(body string, rng *rand.Rand) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &fields) != nil {
		return body
	}
	n := fmt.Sprint(1 + rng.IntN(40))
	for _, name := range []string{"max_tokens", "n_predict", "max_output_tokens"} {
		if fields[name] != nil {
			fields[name] = json.RawMessage(n)
		}
	}
	if fields["options"] != nil {
		fields["options"] = json.RawMessage(`{"num_predict":` + n + `}`)
	}
	fields["stream"] = json.RawMessage("true")
	data, _ := json.Marshal(fields)
	return string(data)
}

// do sends a request and reads its answer; where it may, it leaves in the middle of every third.
func (l *traffic) do(ctx context.Context, method, path, body string, leaves bool, want int) (string, error) {
	leaves = leaves && len(body)%3 == 0
	r, err := http.NewRequestWithContext(ctx, method, l.h.URL()+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	a, err := l.client.Do(r)
	if err != nil {
		return "failed", err
	}
	defer a.Body.Close()
	if leaves {
		_, _ = io.ReadFull(a.Body, make([]byte, 100))
		return "left", nil
	}
	answer, err := io.ReadAll(a.Body)
	if err != nil {
		return "cut", err
	}
	if a.StatusCode != want && a.StatusCode != http.StatusTooManyRequests {
		return "wrong", fmt.Errorf("%s %s %s: %d %.300s", method, path, body, a.StatusCode, answer)
	}
	return fmt.Sprint(a.StatusCode), nil
}

// socket has two answers over a WebSocket, of which it cancels one or leaves both.
func (l *traffic) socket(ctx context.Context, rng *rand.Rand) (string, error) {
	c, _, err := websocket.Dial(ctx, l.h.URL()+"/v1/ws", &websocket.DialOptions{HTTPClient: l.client}) //nolint:bodyclose // the package closes it
	if err != nil {
		return "failed", err
	}
	defer c.CloseNow() //nolint:errcheck // whatever is left of it
	for _, frame := range []string{
		`{"type":"generate","id":"a","request":{"prompt":"Hi","max_tokens":20}}`, `{"type":"generate","id":"b","request":{"prompt":"Ho","max_tokens":2000}}`,
		`{"type":"cancel","id":"b"}`, `{"type":"nonsense","id":"c"}`,
	} {
		if err := c.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			return "failed", err
		}
	}
	if rng.IntN(3) == 0 {
		return "left", nil
	}
	for open := 3; open > 0; {
		_, data, err := c.Read(ctx)
		if err != nil {
			return "failed", errors.Join(errors.New("a WebSocket's answer"), err)
		}
		var f struct{ Type string }
		if err := json.Unmarshal(data, &f); err != nil {
			return "failed", err
		}
		if f.Type == "end" || f.Type == "error" {
			open--
		}
	}
	return "socket", nil
}
