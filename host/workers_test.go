// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/native"
)

// testWorker is a worker that can be killed and started again at its address.
type testWorker struct {
	t       *testing.T
	address string

	mu     sync.Mutex
	conns  []net.Conn
	cancel context.CancelFunc
	ended  chan error
}

// trackedListener knows the connections of a worker.
type trackedListener struct {
	net.Listener
	of *testWorker
}

func (l trackedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.of.mu.Lock()
		l.of.conns = append(l.of.conns, conn)
		l.of.mu.Unlock()
	}
	return conn, err
}

func startWorker(t *testing.T) *testWorker {
	w := &testWorker{t: t, address: "127.0.0.1:0"}
	w.start()
	t.Cleanup(w.kill)
	return w
}

func (w *testWorker) start() {
	listener, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan error, 1)
	server := &remote.Server{Llama: native.Version(), Log: slog.New(slog.DiscardHandler), Start: func() (remote.Child, error) {
		return compute.Start(compute.Options{Threads: 1, Kernels: native.ChooseGGML.Without()}, slog.New(slog.DiscardHandler))
	}}
	go func() { w.ended <- server.Serve(ctx, trackedListener{listener, w}) }()
}

// kill ends the worker without a word to its host.
func (w *testWorker) kill() {
	w.mu.Lock()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
	w.mu.Unlock()
	w.cancel()
	if w.ended != nil {
		if err := <-w.ended; err != nil {
			w.t.Error(err)
		}
		w.ended = nil
	}
}

// greedy is a request whose answer is the same each time.
const greedy = `{` + frog + `,"temperature":0,"max_tokens":40}`

func contentOf(t *testing.T, text string) string {
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return answer.Choices[0].Message.Content
}

// The model lies on two workers, and its answers are those of a model that lies here.
func TestHost_Workers(t *testing.T) {
	local := open(t, map[string]any{"model.kernels": "ggml"})
	run(t, local)
	status, text := post(t, local.URL()+"/v1/chat/completions", greedy)
	if status != 200 {
		t.Fatal(status, text)
	}
	want := contentOf(t, text)

	one, two := startWorker(t), startWorker(t)
	h := open(t, map[string]any{"workers.rpc": []string{one.address, two.address}, "model.tensor_split": "1,1", "model.kernels": "ggml"})
	run(t, h)
	if status, text = post(t, h.URL()+"/v1/chat/completions", greedy); status != 200 || contentOf(t, text) != want {
		t.Errorf("%d: %q, here %q", status, text, want)
	}
	for _, w := range []*testWorker{one, two} {
		if props := get(t, h.URL()+"/props"); !strings.Contains(props, "CPU of "+w.address) {
			t.Errorf("/props does not name the worker %s: %s", w.address, props)
		}
	}
}

// A worker dies in the middle of an answer: the answer says so, what waits is kept, and is answered when the worker is back.
func TestHost_Workers_Lost(t *testing.T) {
	one, two := startWorker(t), startWorker(t)
	h := open(t, map[string]any{"workers.rpc": []string{one.address, two.address}, "model.tensor_split": "1,1", "scheduler.slots": "1"})
	run(t, h)
	for range 3 {
		r := newRequest(t, http.MethodPost, h.URL()+"/v1/chat/completions", []byte(`{`+frog+`,"ignore_eos":true,"max_tokens":3000,"stream":true}`))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(answer.Body)
		for range 10 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		waiting := make(chan string, 1)
		go func() {
			_, text := post(t, h.URL()+"/v1/chat/completions", greedy)
			waiting <- text
		}()
		for _, queued := requests(t, h); queued == 0; _, queued = requests(t, h) {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		two.kill()
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !strings.Contains(string(rest), "the worker "+two.address+" was lost") {
			t.Errorf("the answer does not say why it ended: %s", rest[max(0, len(rest)-400):])
		}
		two.start()
		if text := <-waiting; contentOf(t, text) == "" {
			t.Errorf("the request that waited: %s", text)
		}
	}
}
