// SPDX-License-Identifier: MIT

// Package hosts runs Penstock hosts in this process, for tests that are their clients, and has
// what such tests share.
package hosts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/remote"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"go.uber.org/goleak"
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

// process is what all tests of a package have in common.
var process struct {
	dir    string // removed at the end; the cache of all hosts is in it
	mu     sync.Mutex
	shared map[string]*sharedHost // by what was asked for
}

// sharedHost is a host that runs until all tests have ended.
type sharedHost struct {
	*host.Host
	stop    context.CancelFunc
	ended   chan error
	uploads map[string]bool
}

// tests runs a package's tests and closes what they shared, so that goleak sees what is left.
type tests struct{ m *testing.M }

func (r tests) Run() int {
	code, err := runIn(r.m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func runIn(m *testing.M) (code int, err error) {
	if process.dir, err = os.MkdirTemp("", "penstock-tests-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(process.dir)) }()
	caches, err := os.UserCacheDir()
	if err != nil {
		return 1, err
	}
	env := map[string]string{"XDG_CACHE_HOME": filepath.Join(process.dir, "cache")}
	if os.Getenv("GOCACHE") == "" { // what tests build is not compiled anew with all that it needs
		env["GOCACHE"] = filepath.Join(caches, "go-build")
	}
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil {
			return 1, err
		}
	}
	code = m.Run()
	return code, closeShared()
}

// CodeCache is the folder in which the hosts of a package keep compiled plugins.
func CodeCache() string { return filepath.Join(process.dir, "cache", "penstock", "code") }

func closeShared() error {
	http.DefaultClient.CloseIdleConnections()
	var errs []error
	for _, h := range process.shared {
		h.stop()
		errs = append(errs, <-h.ended, h.Close())
	}
	return errors.Join(errs...)
}

var _ goleak.TestingM = tests{}

// Shared is a running host that all tests of a package share that want the same settings and
// modules in its plugin folder. It is for tests that ask and look at answers. A test that uploads
// plugins, counts requests, lists recordings, saves slots or closes its host opens one of its own.
func Shared(t *testing.T, change map[string]any, modules map[string][]byte) *host.Host {
	t.Helper()
	return share(t, change, modules).Host
}

// SharedWithExamples is a shared host that has plugins of build/plugins, where `make plugins` puts
// them. Each is uploaded when the first test wants it, so most are compiled once.
func SharedWithExamples(t *testing.T, names ...string) *host.Host {
	t.Helper()
	h := share(t, map[string]any{"server.admin_key": "secret"}, nil)
	for _, name := range names {
		if h.uploads[name] {
			continue
		}
		if status, text := Admin(t, h.Host, http.MethodPost, "/v1/plugins", Example(t, name)); status != http.StatusOK && status != http.StatusCreated {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		h.uploads[name] = true
	}
	return h.Host
}

func share(t *testing.T, change map[string]any, modules map[string][]byte) *sharedHost {
	t.Helper()
	process.mu.Lock()
	defer process.mu.Unlock()
	key := fmt.Sprint(change) // maps are printed in the order of their keys
	for _, base := range slices.Sorted(maps.Keys(modules)) {
		key += fmt.Sprintf(" %s %x", base, sha256.Sum256(modules[base]))
	}
	if h := process.shared[key]; h != nil {
		return h
	}
	dir, err := os.MkdirTemp(process.dir, "shared-") //nolint:usetesting // it outlives the test
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(context.Background(), options(configure(t, dir, withModules(t, filepath.Join(dir, "plugins"), change, modules))))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	made := &sharedHost{h, stop, make(chan error, 1), map[string]bool{}}
	go func() { made.ended <- h.Run(ctx) }()
	if process.shared == nil {
		process.shared = map[string]*sharedHost{}
	}
	process.shared[key] = made
	return made
}

// OpenWithPlugins opens and runs a host whose plugin folder has modules as its files.
func OpenWithPlugins(t *testing.T, change map[string]any, modules map[string][]byte) *host.Host {
	t.Helper()
	h := Open(t, withModules(t, t.TempDir(), change, modules))
	Run(t, h)
	return h
}

// withModules writes modules into a plugin folder and returns settings with that folder.
func withModules(t *testing.T, dir string, change map[string]any, modules map[string][]byte) map[string]any {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for base, wasm := range modules {
		if err := os.WriteFile(filepath.Join(dir, base), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := map[string]any{"plugins.dir": dir}
	maps.Copy(flags, change)
	return flags
}

// Example is a plugin of build/plugins.
func Example(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "build", "plugins", name+".wasm"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s.wasm is not built: run `make plugins` first", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// Always is a plugin that chooses one token, whatever the logits.
func Always(name string, token int) []byte {
	g := asm.New(`{"name":"` + name + `","view":"none"}`)
	return g.On(abi.ExportSample, asm.I32(token)).Wasm()
}

// BuiltIn is the path of the built-in model, from the folder of a package of tests.
const BuiltIn = "../../host/model/penstock-tiny.gguf"

// ModelFolder has two small models that answer differently, one that is broken, and the built-in
// one.
func ModelFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, architecture := range map[string]string{"window": "cohere2", "state": "mamba"} {
		if err := synth.SmallFile(filepath.Join(dir, name+".gguf"), architecture, 1); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(BuiltIn)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tale": data, "broken": data[:len(data)/2]} {
		if err := os.WriteFile(filepath.Join(dir, name+".gguf"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// SmallModel is the path of a small random model of a kind, which is written once. Nobody changes
// it.
func SmallModel(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(process.dir, kind+".gguf")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := synth.SmallFile(path, kind, 1); err != nil {
		t.Fatal(err)
	}
	return path
}

// Written is the path of a new file with what write writes.
func Written(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Vocabulary is the built-in model without its weights.
func Vocabulary(t *testing.T) *native.Model {
	t.Helper()
	m, err := native.LoadModel(t.Context(), BuiltIn, native.ModelOptions{VocabOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Piece is the text of a token of the built-in model.
func Piece(t *testing.T, token int) string {
	t.Helper()
	return Vocabulary(t).SpecialPiece(int32(token))
}

// Worker is a worker that can be killed and started again at its address.
type Worker struct {
	t       *testing.T
	Address string

	mu     sync.Mutex
	conns  []net.Conn
	cancel context.CancelFunc
	ended  chan error
}

// trackedListener knows the connections of a worker.
type trackedListener struct {
	net.Listener
	of *Worker
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

// StartWorker starts a worker, which ends with the test.
func StartWorker(t *testing.T) *Worker {
	w := &Worker{t: t, Address: "127.0.0.1:0"}
	w.Start()
	t.Cleanup(w.Kill)
	return w
}

// Start starts a worker that was killed.
func (w *Worker) Start() {
	listener, err := net.Listen("tcp", w.Address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan error, 1)
	server := &remote.Server{Llama: native.Version(), Log: slog.New(slog.DiscardHandler), Start: func() (remote.Child, error) {
		return compute.Start(compute.Options{Threads: 1, Kernels: native.ChooseGGML.Without()}, slog.New(slog.DiscardHandler))
	}}
	go func() { w.ended <- server.Serve(ctx, trackedListener{listener, w}) }()
}

// Kill ends the worker without a word to its host.
func (w *Worker) Kill() {
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
