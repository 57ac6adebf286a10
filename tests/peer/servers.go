// SPDX-License-Identifier: MIT

// Package peer runs llama-server and a Penstock host on the same model and compares their answers,
// for tests.
//
// # Why are llama-server's answers stored, and how can another CPU agree with them?
//
// Building llama-server takes minutes, and it answers the same each time. So `make golden` stores
// its answers (testdata/llama-server), and `make test-long` compares with the program itself. CPUs
// add up in different orders. With 8-bit weights that changes a log-probability by up to 0.06,
// since the inputs are rounded to 8 bits as well, and then a greedy text may change. So the texts
// of these tests come from a copy of the built-in model with 32-bit weights (Exact), a 32-bit
// cache and plain attention, where CPUs differ by less than 0.0001.
package peer

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
)

// What both servers have unless a test says otherwise.
const (
	slots   = 2
	cells   = 4096 // tokens of context for all slots together
	threads = 1    // more would spin beside other tests
)

// exactFlags are llama-server's for what the hosts here compute with, too.
var exactFlags = []string{"--flash-attn", "off", "--cache-type-k", "f32", "--cache-type-v", "f32"}

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
		"scheduler.slots": slots, "model.kernels": "ggml", "server.shutdown_timeout": "20s", "plugins.dir": t.TempDir(),
		"model.flash_attn": "off", "model.cache_type_k": "f32", "model.cache_type_v": "f32"}
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
	request.Close = true
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
