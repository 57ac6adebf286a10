// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// What keeps a host from using a worker is a sentence that names the worker, and the worker is
// there for the next host.
func TestWorkers_Refused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ours, others := newAuthority(t), newAuthority(t)
	plain := startWorker(t, 0, "--listen", "127.0.0.1:0")
	secured := startWorker(t, 0, append(ours.flags(t, "worker"), "--listen", "127.0.0.1:0")...)
	old := startOldWorker(t)
	for _, c := range []struct {
		name, address string
		flags         []string
		want          string
	}{
		{"another llama.cpp", old, nil, "refuses: the host has llama.cpp "},
		{"another authority", secured.address, others.flags(t, "host"), "its certificate is of another authority than --tls-ca names"},
		{"TLS at the worker alone", secured.address, nil, "it speaks TLS; name a certificate with --tls-cert, --tls-key and --tls-ca"},
		{"TLS at the host alone", plain.address, ours.flags(t, "host"), "it does not speak TLS"},
		{"a LoRA adapter", plain.address, []string{"--lora", writeAdapter(t)}, "not for a model that workers compute; serve it without --rpc"},
		{"embeddings of its own", plain.address, []string{"--embeddings"}, "not for a model that workers compute; serve it without --rpc"},
	} {
		text := refusal(ctx, t, append(slices.Clone(c.flags), "--rpc", c.address)...)
		if !strings.Contains(text, c.want) || !strings.Contains(text, c.address) && !strings.Contains(c.want, "--rpc") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
	first := startServer(ctx, t, "--rpc", plain.address)
	if text := refusal(ctx, t, "--rpc", plain.address); !strings.Contains(text, "the worker "+plain.address+" refuses: it serves the host ") {
		t.Errorf("a second host: %s", text)
	}
	greedyText(ctx, t, first.url)
	if text := embeddingOf(ctx, t, first.url); !strings.Contains(text, "--embedding-model") {
		t.Errorf("embeddings: %s", text)
	}
	first.stop(t)
	again := startServer(ctx, t, "--rpc", plain.address) // which the worker serves, though it has just had another host
	again.stop(t)
}

// embeddingOf asks for the embedding of a text.
func embeddingOf(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	response := post(ctx, t, url+"/v1/embeddings", `{"input":"a frog"}`)
	defer func() { _ = response.Body.Close() }()
	text := must.Get(io.ReadAll(response.Body))(t)
	return string(text)
}

// startOldWorker serves as a worker of another release would, and returns its address.
func startOldWorker(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- (&remote.Server{Llama: "v0.0.1", Log: slog.New(slog.DiscardHandler)}).Serve(ctx, listener)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// writeAdapter writes a LoRA adapter of the built-in model.
func writeAdapter(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	file := must.Get(os.Create(path))(t)
	defer file.Close() //nolint:errcheck // a file that was not written does not load
	must.Do(t, (synth.Adapter{Model: "../../host/model/penstock-tiny.gguf", Seed: 1}).Write(file))
	return path
}

// A worker that dies while a model is loaded: the host says so, and does not crash.
func TestWorkers_DiesInLoad(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	path := writeWide(t)
	w := startWorker(t, 0, "--listen", "127.0.0.1:0", "--no-cache")
	cmd := child(ctx, t, "serve", "--listen", "127.0.0.1:0", "--model", path, "--rpc", w.address, "--gpu-layers", "99")
	var out lockedText
	cmd.Stdout, cmd.Stderr = &out, &out
	must.Do(t, cmd.Start())
	for readBy(t, w.cmd.Process.Pid) < 20<<20 { // of 200 MB
		if ctx.Err() != nil {
			t.Fatalf("nothing is loaded: %s", &out)
		}
		time.Sleep(time.Millisecond)
	}
	w.kill()
	_ = cmd.Wait() // its exit code says how
	if text := out.String(); cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(text, "the worker "+w.address+" was lost: ") {
		t.Errorf("exit %d: %s", cmd.ProcessState.ExitCode(), text)
	}
}

// readBy is how many bytes a process has read, from its connections too.
func readBy(t *testing.T, pid int) uint64 {
	t.Helper()
	text := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)))(t)
	var n uint64
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &n); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return n
}

// A worker that stops, as one does whose machine hangs, gives no sign of life: its answer ends
// within seconds. The host goes on without it, since the model fits on what is left.
func TestWorkers_Stalls(t *testing.T) {
	if !steadytest.Long() {
		t.Skip("it waits for half a minute: make test-long, or make workers-test")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	stays, stalls := startWorker(t, 0, "--listen", "127.0.0.1:0"), startWorker(t, 0, "--listen", "127.0.0.1:0")
	s := startServer(ctx, t, "--rpc", stays.address+","+stalls.address, "--tensor-split", "1,1", "--ctx-size", "100000", "--parallel", "1")
	want := greedyText(ctx, t, s.url)
	text := interrupted(ctx, t, s.url, func() {
		if err := stalls.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
	})
	if !strings.Contains(text, "the worker "+stalls.address+" was lost: it gave no sign of life for 10s") {
		t.Errorf("the answer does not say why it ended: %s", text[max(0, len(text)-400):])
	}
	if got := greedyText(ctx, t, s.url); got != want { // which waits until the host goes on without the worker
		t.Errorf("without the worker the answer is %q, with it %q", got, want)
	}
	s.stop(t)
	if err := stalls.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
}
