// SPDX-License-Identifier: MIT

// Package hosts runs Penstock hosts in this process, for tests that are their clients, and has
// what such tests share.
package hosts

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/host/spawn"
)

// Main is TestMain of a package whose tests run hosts. Processes that a host starts are this
// program once more.
func Main(m *testing.M) {
	kerneltest.Main()
	spawn.Run(model.Child())
	spawn.Run(compile.Child())
	spawn.Run(compute.Child())
	goleak.VerifyTestMain(tests{m})
}

// Frog is the messages of a chat that the built-in model answers with a story.
const Frog = `"messages":[{"role":"user","content":"Tell me a story about a frog."}]`

// Settings are flags for a test's host: a free port, a folder for recordings, and one thread, which
// does not spin beside other tests.
func Settings(t *testing.T, change map[string]any) config.Config {
	t.Helper()
	return configure(t, t.TempDir(), change)
}

// configure is Settings with a folder for what the host writes.
func configure(t *testing.T, dir string, change map[string]any) config.Config {
	t.Helper()
	flags := map[string]any{"server.listen": "127.0.0.1:0", "model.threads": "1", "model.ctx_size": "4096", "server.shutdown_timeout": "20s",
		"recordings.dir": filepath.Join(dir, "recordings")}
	maps.Copy(flags, change)
	c, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// options are those of each host.
func options(c config.Config) host.Options {
	return host.Options{Config: c, Log: slog.New(slog.DiscardHandler), Version: "test"}
}

// Open opens a host with Settings, which takes requests once Run has begun. The test closes it.
func Open(t *testing.T, change map[string]any) *host.Host {
	t.Helper()
	return OpenConfig(t, Settings(t, change))
}

// OpenConfig is Open with a whole configuration.
func OpenConfig(t *testing.T, c config.Config) *host.Host {
	t.Helper()
	return open(t, options(c))
}

// OpenLogged is Open with a log.
func OpenLogged(t *testing.T, log slog.Handler, change map[string]any) *host.Host {
	t.Helper()
	o := options(Settings(t, change))
	o.Log = slog.New(log)
	return open(t, o)
}

func open(t *testing.T, o host.Options) *host.Host {
	t.Helper()
	h, err := host.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Run begins Run; the function it returns ends it and checks that it went well.
func Run(t *testing.T, h *host.Host) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		stopped = true
	}
	t.Cleanup(stop)
	return stop
}
