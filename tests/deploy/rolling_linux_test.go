// SPDX-License-Identifier: MIT

package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// know asks a replica itself for the answer that clients are to get.
func (f *fleet) know(t *testing.T, q question) question {
	t.Helper()
	body := must.Get(json.Marshal(q.body()))(t)
	status, text := f.server[replicas[0]].ask(t, "/v1/chat/completions", "application/json", string(body))
	var said struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || status != http.StatusOK || len(said.Choices) != 1 {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	q.answer = said.Choices[0].Message.Content
	return q
}

// counts are what clients have seen.
type counts struct {
	mu                                sync.Mutex
	requests, answers, resumed, moved int
	by                                map[string]int // requests by the replica that answered
	failed                            []error
}

func (c *counts) http(replica string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.by[replica]++
	if err != nil {
		c.failed = append(c.failed, fmt.Errorf("%s, over HTTP: %w", time.Now().Format(time.TimeOnly), err))
	}
}

// socket counts an answer of a caller and what the caller went through since the last one.
func (c *counts) socket(from *caller, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers++
	c.resumed, c.moved = c.resumed+from.resumed, c.moved+from.moved
	from.resumed, from.moved = 0, 0
	if err != nil {
		c.failed = append(c.failed, fmt.Errorf("%s, over the WebSocket: %w", time.Now().Format(time.TimeOnly), err))
	}
}

// sawAll reports whether clients have seen what a rolling restart does to them: all replicas
// answer, answers go on after a lost connection, and servers that end send clients elsewhere.
func (c *counts) sawAll() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resumed > 0 && c.moved > 0 && len(c.by) == len(replicas)
}

// load is what clients do until they are stopped: each gets its answers one after the other.
type load struct {
	counts
	fleet  *fleet
	short  []question // over HTTP
	long   question   // over the WebSocket
	large  bool       // whether some requests are too large to be sent again
	ending chan struct{}
	all    sync.WaitGroup
}

// asks is a client over HTTP. Every second one has a conversation, and every fifth request may be
// too large to be sent again.
func (l *load) asks(ctx context.Context, n int) {
	conversation := ""
	if n%2 == 0 {
		conversation = fmt.Sprint("conversation ", n)
	}
	for i := 0; !l.over(); i++ {
		ballast := 0
		if l.large && i%5 == 4 {
			ballast = 200_000
		}
		l.http(ask(ctx, l.fleet.url, l.short[(n+i)%len(l.short)], conversation, ballast))
	}
}

// calls is a client of the WebSocket. The first ones begin at different replicas, so that each has
// one when it is restarted.
func (l *load) calls(ctx context.Context, n int) {
	c := &caller{url: l.fleet.url, pace: 5 * time.Millisecond, between: 200, rng: rand.New(rand.NewPCG(16, uint64(n)))}
	defer c.leave()
	if err := c.dial(ctx, replicas[n%len(replicas)]); err != nil {
		l.socket(c, err)
	}
	for !l.over() {
		l.socket(c, c.ask(ctx, l.long))
	}
}

func (l *load) over() bool {
	select {
	case <-l.ending:
		return true
	default:
		return false
	}
}

// A rolling restart of all replicas under load loses no request, and every stream of the WebSocket
// goes on, nothing of it lost or doubled. 10 clients, and each replica is restarted once, or more
// often until clients have seen all that a restart does to them. With PENSTOCK_TEST_LONG=1 (make
// rolling-test) 50 clients over HTTP and 20 over the WebSocket for three minutes at least, and
// each is restarted twice.
func TestProxy_RollingRestart(t *testing.T) {
	t.Parallel() // much of it is waiting
	clients, callers, rounds, least, delay := 6, 4, 1, time.Duration(0), "1s"
	if steadytest.Long() {
		// The delay is longer than a busy machine makes the proxy wait for a look at the replica.
		// Requests that are too large to be sent again need that.
		clients, callers, rounds, least, delay = 50, 20, 2, 3*time.Minute, "15s"
	}
	f := newFleet(t, nil, "--shutdown-delay", delay)
	l := &load{fleet: f, large: steadytest.Long(), counts: counts{by: map[string]int{}}, ending: make(chan struct{})}
	for _, prompt := range []string{"Tell me a story about a frog.", "Tell me a story about a bird and a boat.", "Who are you?"} {
		l.short = append(l.short, f.know(t, question{prompt: prompt, tokens: 60}))
	}
	l.long = f.know(t, question{prompt: "Tell me a story about a boy who had a dog.", tokens: 500})
	begun := time.Now()
	for n := range clients {
		l.all.Go(func() { l.asks(t.Context(), n) })
	}
	for n := range callers {
		l.all.Go(func() { l.calls(t.Context(), n) })
	}
	restarts := 0
	for ; restarts < rounds*len(replicas) || !l.sawAll() && restarts < 4*rounds*len(replicas); restarts++ {
		f.restart(t, replicas[restarts%len(replicas)])
	}
	time.Sleep(least - time.Since(begun))
	close(l.ending)
	l.all.Wait()
	for i, err := range l.failed[:min(len(l.failed), 20)] {
		t.Errorf("failure %d of %d: %v", i+1, len(l.failed), err)
	}
	if !l.sawAll() {
		t.Errorf("%d answers went on after a lost connection, %d connections were sent elsewhere, %v answered; want some, some, and all replicas", l.resumed, l.moved, l.by)
	}
	t.Logf("%.0f s, %d restarts: %d requests over HTTP, by replica %v; %d answers over the WebSocket, which went on %d times after a lost connection; "+
		"%d times a server that ended sent a client elsewhere; %d failed",
		time.Since(begun).Seconds(), restarts, l.requests, l.by, l.answers, l.resumed, l.moved, len(l.failed))
}

// A stream of a replica that drains goes on for the client that comes back to it, which is led
// there although new requests are not; the replica ends when the client has all of it, and not
// before.
func TestProxy_DrainingReplica(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := newFleet(t, nil)
	q := f.know(t, question{prompt: "Tell me a story about a frog.", tokens: 300})
	c := &caller{url: f.url}
	s := &said{seq: -1}
	c.between, c.rng = 20, rand.New(rand.NewPCG(1, 2))
	for s.stream == "" {
		must.Do(t, c.part(t.Context(), q, s))
	}
	home := s.home()
	if home != c.replica {
		t.Fatalf("the stream %s is at %q", s.stream, c.replica)
	}
	f.end(t, home)
	for _, conversation := range []string{"", "a", "b", "c", "d", "e"} {
		if got, err := ask(t.Context(), f.url, q, conversation, 0); err != nil || got == home {
			t.Errorf("%s answers a new request, %v; %s drains", got, err, home)
		}
	}
	c.between = 0
	for !s.ended {
		must.Do(t, c.part(t.Context(), q, s))
		if c.replica != home {
			t.Fatalf("led to %s, want %s", c.replica, home)
		}
	}
	if s.text != q.answer {
		t.Errorf("got %q, want %q", s.text, q.answer)
	}
	c.leave()
	if err := f.server[home].cmd.Wait(); err != nil {
		t.Errorf("%s ended with %v", home, err)
	}
}

// end asks a replica to end, and waits until the proxy knows.
func (f *fleet) end(t *testing.T, name string) {
	t.Helper()
	must.Do(t, f.server[name].cmd.Process.Signal(os.Interrupt))
	f.await(t, name, "DOWN")
}

// A replica that is killed takes its streams with it: the client is told so. Requests that come
// later are answered by the others, those that were on their way too.
func TestProxy_KilledReplica(t *testing.T) {
	f := newFleet(t, nil)
	q := f.know(t, question{prompt: "Tell me a story about a frog.", tokens: 300})
	c := &caller{url: f.url, between: 20, rng: rand.New(rand.NewPCG(3, 4))}
	s := &said{seq: -1}
	for s.stream == "" {
		must.Do(t, c.part(t.Context(), q, s))
	}
	must.Do(t, f.server[s.home()].cmd.Process.Kill())
	_ = f.server[s.home()].cmd.Wait() // it was killed
	for range 2 * len(replicas) {     // the proxy does not know yet
		if _, err := ask(t.Context(), f.url, q, "", 0); err != nil {
			t.Error(err)
		}
	}
	err := c.part(t.Context(), q, s)
	if err == nil || !strings.Contains(err.Error(), "unknown_stream") || !strings.Contains(err.Error(), `"`+s.home()+`"`) {
		t.Errorf("the client who comes back is told %v; want unknown_stream and the name of the server", err)
	}
}

// The requests of a conversation go to one replica, those without one to all.
func TestProxy_Affinity(t *testing.T) {
	f := newFleet(t, nil)
	q := f.know(t, question{prompt: "Who are you?", tokens: 5})
	for _, conversation := range []string{"a", "b", "c"} {
		by := map[string]int{}
		for range 6 {
			replica := must.Get(ask(t.Context(), f.url, q, conversation, 0))(t)
			by[replica]++
		}
		if len(by) != 1 {
			t.Errorf("the conversation %s went to %v", conversation, by)
		}
	}
	by := map[string]int{}
	for range 9 {
		replica := must.Get(ask(t.Context(), f.url, q, "", 0))(t)
		by[replica]++
	}
	if len(by) != len(replicas) {
		t.Errorf("requests without a conversation went to %v", by)
	}
}
