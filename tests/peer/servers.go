// SPDX-License-Identifier: MIT

// Package peer runs llama-server and a Penstock host on the same model and compares their answers,
// for tests.
package peer

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/bench"
	"github.com/penstock/penstock/host/config"
)

// What both servers have unless a test says otherwise.
const (
	slots   = 2
	cells   = 4096 // tokens of context for all slots together
	threads = 1    // more would spin beside other tests
)

// BuiltIn is the path of the built-in model, from the root of the repository.
const BuiltIn = "host/model/penstock-tiny.gguf"

// Server is a running server.
type Server struct {
	URL string
	Key string // that requests send; "": none
}

// Response is what a server answered.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// LlamaServer runs llama-server with a model (a path, or one from the root of the repository)
// until the test ends, with two slots of 2048 tokens each unless flags say otherwise. The test
// fails if `make llama-server` has not built it.
func LlamaServer(t testing.TB, model string, flags ...string) Server {
	t.Helper()
	program := inRepository(t, "build/llama.cpp/tools/llama-server")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("llama-server is not built; `make llama-server` does that: %v", err)
	}
	size := bench.Size{Slots: slots, Context: cells, Threads: threads}
	p, err := bench.Start(t.Context(), bench.LlamaServer(program, inRepository(t, model), size, flags...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		p.Stop()
	})
	return Server{URL: p.URL}
}

// Penstock runs a host within the test until it ends, with a model and the same slots and context.
// It computes with llama.cpp's own kernels, so that its answers can be compared; change has
// further keys of the configuration.
func Penstock(t *testing.T, model string, change map[string]any) Server {
	t.Helper()
	h, err := open(t, model, change)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return Server{URL: h.URL()}
}

// PenstockFails is why a host with such keys does not start; nil if it does.
func PenstockFails(t *testing.T, model string, change map[string]any) error {
	t.Helper()
	h, err := open(t, model, change)
	if err == nil {
		err = h.Close()
	}
	return err
}

// open opens a host.
func open(t *testing.T, model string, change map[string]any) (*host.Host, error) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	keys := map[string]any{"model.path": inRepository(t, model), "server.listen": "127.0.0.1:0", "model.threads": threads, "model.ctx_size": cells,
		"scheduler.slots": slots, "model.kernels": "ggml", "server.shutdown_timeout": "20s", "plugins.dir": t.TempDir()}
	for k, v := range change {
		keys[k] = v
	}
	c, err := config.Load(config.Sources{Flags: keys})
	if err != nil {
		return nil, err
	}
	return host.Open(t.Context(), host.Options{Config: c, Log: slog.New(slog.DiscardHandler), Version: "test"})
}

// Call sends a request and returns the answer; a body is JSON.
func (s Server) Call(t testing.TB, method, path, body string) Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	request.Close = true // llama-server ends connections after some requests, and a POST is not sent twice
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Response{response.StatusCode, response.Header, string(text)}
}

// inRepository is the path of a file, given by a path from the root of the repository, which is
// two folders above these tests.
func inRepository(t testing.TB, path string) string {
	t.Helper()
	if filepath.IsAbs(path) {
		return path
	}
	path, err := filepath.Abs(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
