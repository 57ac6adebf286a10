// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/model/kerneltest"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/remote/compute"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/tools/must"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	kerneltest.Main()
	spawn.Run(model.Child())
	spawn.Run(compile.Child())
	spawn.Run(compute.Child())
	goleak.VerifyTestMain(m)
}

const frog = `"messages":[{"role":"user","content":"Tell me a story about a frog."}]`

// settings are flags for a test's host: a free port, and one thread, which does not spin beside
// other tests.
func settings(t *testing.T, change map[string]any) config.Config {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	flags := map[string]any{"server.listen": "127.0.0.1:0", "model.threads": "1", "model.ctx_size": "4096", "server.shutdown_timeout": "20s"}
	for k, v := range change {
		flags[k] = v
	}
	return must.Get(config.Load(config.Sources{Flags: flags}))(t)
}

func open(t *testing.T, change map[string]any) *Host {
	t.Helper()
	return openConfig(t, settings(t, change))
}

func openConfig(t *testing.T, c config.Config) *Host {
	t.Helper()
	h := must.Get(Open(context.Background(), Options{Config: c, Log: slog.New(slog.DiscardHandler), Version: "test"}))(t)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// run begins Run; the function it returns ends it and checks that it went well.
func run(t *testing.T, h *Host) (stop func()) {
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

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	a, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Error(err)
	}
	return a.StatusCode, string(text)
}

func TestHost_Streams_TheBuiltInModel(t *testing.T) {
	h := open(t, nil)
	run(t, h)
	status, text := post(t, h.URL()+"/v1/chat/completions", `{`+frog+`,"temperature":0,"max_tokens":60,"stream":true}`)
	if status != 200 || strings.Count(text, "data: ") < 10 || !strings.HasSuffix(text, "data: [DONE]\n\n") || !strings.Contains(text, "frog") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := post(t, h.URL()+"/v1/chat/completions", `{`+frog+`,"grammar":"root ::= ("}`); status != 400 || !strings.Contains(text, `"grammar"`) {
		t.Errorf("a bad grammar: %d %s", status, text)
	}
	a := must.Get(http.Get(h.URL() + "/metrics"))(t)
	defer a.Body.Close()
	metrics := must.Get(io.ReadAll(a.Body))(t)
	if want := `penstock_request_success_total{finished_reason="`; strings.Count(string(metrics), want) != 4 {
		t.Errorf("no %s in\n%s", want, metrics)
	}
}

func TestHost_Run_CutsAtTheDeadline(t *testing.T) {
	h := open(t, map[string]any{"server.shutdown_timeout": "1ms"})
	stop := run(t, h)
	ctx := context.Background()
	conn, _ := must.Both(websocket.Dial(ctx, h.URL()+"/v1/ws", nil))(t)
	defer conn.CloseNow() //nolint:errcheck // the host closes it
	frame := `{"type":"generate","id":"a","request":{` + frog + `,"ignore_eos":true}}`
	must.Do(t, conn.Write(ctx, websocket.MessageText, []byte(frame)))
	if _, _, err := conn.Read(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { stop(); close(done) }()
	last := ""
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("closed by %v", err)
			}
			break
		}
		last = string(data)
	}
	<-done
	if !strings.Contains(last, `"type":"end"`) || !strings.Contains(last, `"reason":"cancelled"`) {
		t.Errorf("the last frame is %s", last)
	}
}

func TestOpen_Wrong(t *testing.T) {
	taken := open(t, nil)
	for name, tc := range map[string]struct {
		change map[string]any
		want   string
	}{
		"address in use": {map[string]any{"server.listen": strings.TrimPrefix(taken.URL(), "http://")}, "server.listen"},
		"no such model":  {map[string]any{"model.path": "/nowhere/x.gguf"}, "x.gguf"},
	} {
		_, err := Open(context.Background(), Options{Config: settings(t, tc.change), Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoading_SaysSo(t *testing.T) {
	page := fstest.MapFS{"index.html": {Data: []byte("<title>a page</title>")}, "assets/x.js": {Data: []byte("1")}}
	for _, prefix := range []string{"", "/llm"} {
		h := &Host{config: settings(t, map[string]any{"server.api_prefix": prefix}), front: front{ui: page}}
		h.noteProgress(nil)(0.25)
		for path, want := range map[string]string{
			"/livez": "ok", "/readyz": `"loading_model"`, "/health": `"loading_model"`, "/v1/models": `"progress":0.250`,
			"/": "a page", "/assets/x.js": "1", "/assets/": `"loading_model"`, "/no.js": `"loading_model"`,
		} {
			w := httptest.NewRecorder()
			h.stillLoading(w, httptest.NewRequest(http.MethodGet, prefix+path, nil))
			refused := strings.HasPrefix(want, `"`)
			if refused != (w.Code == 503) || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s%s: %d %s", prefix, path, w.Code, w.Body)
			}
			if path == "/" && !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s%s has the headers %v", prefix, path, w.Header())
			}
		}
		w := httptest.NewRecorder()
		if h.stillLoading(w, httptest.NewRequest(http.MethodPost, prefix+"/", nil)); w.Code != 503 {
			t.Errorf("POST %s/: %d", prefix, w.Code)
		}
	}
}

// reloadSource is a file that load reads; a text of "broken" cannot be used.
func reloadSource(t *testing.T) (path string, write func(text string), load func() (string, error)) {
	path = filepath.Join(t.TempDir(), "file")
	modified := time.Unix(1e9, 0)
	write = func(text string) {
		t.Helper()
		modified = modified.Add(time.Second)
		must.Do(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, modified, modified)))
	}
	load = func() (string, error) {
		text, err := os.ReadFile(path)
		if string(text) == "broken" {
			err = errors.New("it is broken")
		}
		return string(text), err
	}
	return path, write, load
}

func TestReloaded_Get_FollowsItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, write, load := reloadSource(t)
		write("one")
		var log bytes.Buffer
		v := must.Get(newReloaded(slog.New(slog.NewTextHandler(&log, nil)), load, path))(t)
		for _, step := range []struct{ write, want, logged string }{
			{"", "one", ""}, {"two", "two", "were read again"}, {"broken", "two", "it is broken"}, {"", "two", ""}, {"six", "six", "were read again"},
		} {
			log.Reset()
			if step.write != "" {
				write(step.write)
			}
			if step.write != "" && v.Get() == step.write {
				t.Error("the file was looked at again within a second")
			}
			time.Sleep(reloadInterval) // virtual time
			if got := v.Get(); got != step.want {
				t.Errorf("after %q: %q, want %q", step.write, got, step.want)
			}
			if (step.logged == "") != (log.Len() == 0) || !strings.Contains(log.String(), step.logged) {
				t.Errorf("after %q the log has %q, want %q", step.write, log.String(), step.logged)
			}
		}
		must.Do(t, os.Remove(path))
		time.Sleep(reloadInterval)
		if got := v.Get(); got != "six" || !strings.Contains(log.String(), "no such file") {
			t.Errorf("without the file: %q, log %q", got, log.String())
		}
	})
}

// What a file names may come after the file: it is tried again, and told once.
func TestReloaded_Get_TriesAgainWithoutAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, write, load := reloadSource(t)
		write("one")
		var log bytes.Buffer
		lacks := false
		v := must.Get(newReloaded(slog.New(slog.NewTextHandler(&log, nil)), func() (string, error) {
			if lacks {
				return "", errors.New("it names what is not there")
			}
			return load()
		}, path))(t)
		write("two")
		lacks = true
		for range 3 {
			time.Sleep(reloadInterval)
			v.Get()
		}
		if n := strings.Count(log.String(), "it names what is not there"); n != 1 {
			t.Errorf("it is told %d times: %s", n, log.String())
		}
		lacks = false
		time.Sleep(reloadInterval)
		if got := v.Get(); got != "two" {
			t.Errorf("got %q", got)
		}
	})
}

func TestReloaded_Broken_Fails(t *testing.T) {
	path, write, load := reloadSource(t)
	if _, err := newReloaded(slog.New(slog.DiscardHandler), load, path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	write("broken")
	if _, err := newReloaded(slog.New(slog.DiscardHandler), load, path); err == nil {
		t.Error("a broken file was taken")
	}
}

// A host that is about to end says so for as long as it is told to, and still takes what comes, on
// connections that it closes.
func TestHost_Announce(t *testing.T) {
	const delay = 20 * time.Millisecond
	h, ready := open(t, map[string]any{"server.shutdown_delay": delay.String()}), make(chan struct{})
	h.ready = func(string) { close(ready) }
	run(t, h)
	<-ready
	for _, want := range []struct {
		readyz  int
		closing bool
	}{{200, false}, {503, true}} {
		for path, status := range map[string]int{"/readyz": want.readyz, "/livez": 200, "/v1/chat/completions": 200} {
			method, body := http.MethodGet, ""
			if strings.HasPrefix(path, "/v1") {
				method, body = http.MethodPost, `{`+frog+`,"max_tokens":2}`
			}
			r := must.Get(http.NewRequestWithContext(t.Context(), method, h.URL()+path, strings.NewReader(body)))(t)
			a := must.Get(http.DefaultClient.Do(r))(t)
			text, err := io.ReadAll(a.Body)
			_ = a.Body.Close() // it was read
			if err != nil || a.StatusCode != status || a.Close != want.closing {
				t.Errorf("%s: %d %s, closing %v, %v; want %d, closing %v", path, a.StatusCode, text, a.Close, err, status, want.closing)
			}
		}
		begun := time.Now()
		if h.announce(); time.Since(begun) < delay {
			t.Error("it does not wait for proxies")
		}
	}
}

func parsed(t *testing.T, address string) config.Address {
	t.Helper()
	return must.Get(config.ParseAddress(address))(t)
}

// Two servers may listen on the same port where both say so.
func TestListen_ReusePort(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SO_REUSEPORT")
	}
	c := settings(t, map[string]any{"server.reuse_port": "true"}).Server
	first := must.Get(Listen(t.Context(), c.Listen, c.ReusePort))(t)
	defer first.Close()
	c.Listen = parsed(t, first.Addr().String())
	second := must.Get(Listen(t.Context(), c.Listen, c.ReusePort))(t)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	c.ReusePort = false
	if third, err := Listen(t.Context(), c.Listen, c.ReusePort); err == nil {
		_ = third.Close()
		t.Error("a server that does not say so has the port too")
	}
}

// TestListen_AsAsked: a listener is open to no more than its address says, and tells what it is.
func TestListen_AsAsked(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:0": "127.0.0.1:", "[::1]:0": "[::1]:", "0.0.0.0:0": "of all IPv4 addresses", "[::1%lo]:0": "[::1", "localhost:0": ":",
	} {
		l, err := Listen(t.Context(), parsed(t, address), false)
		if err != nil {
			if strings.Contains(address, "::1") {
				continue // a machine without IPv6, or with another name for its loopback interface
			}
			t.Fatal(err)
		}
		if got := listeningOn(l.Addr()); !strings.Contains(got, want) || address != "0.0.0.0:0" && strings.Contains(got, "all") {
			t.Errorf("%s listens on %s", address, got)
		}
		if address == "0.0.0.0:0" && l.Addr().(*net.TCPAddr).IP.To4() == nil {
			t.Errorf("%s is %s", address, l.Addr())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(t.TempDir(), strings.Repeat("x", longestSocket)+".sock")
	if _, err := Listen(t.Context(), parsed(t, path), false); err == nil || !strings.Contains(err.Error(), fmt.Sprint("at most ", longestSocket, " bytes")) {
		t.Errorf("a path that is too long: %v", err)
	}
}

// A guest, a forward pass and whoever sends tokens can run at once, however few processors there
// are; somebody's own choice is kept.
func TestHost_RunsThreeAtOnce(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "1")
	chooseParallelism()
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("%d at once where 1 was asked for", n)
	}
	t.Setenv("GOMAXPROCS", "")
	chooseParallelism()
	if n := runtime.GOMAXPROCS(0); n != leastParallel {
		t.Errorf("%d at once", n)
	}
}

// A limit of processor time counts where it is tighter than the processors, and is rounded up.
func TestParallel(t *testing.T) {
	for _, c := range []struct {
		processors int
		time       float64
		want       int
	}{{64, math.Inf(1), 64}, {64, 7.2, 8}, {64, 1.5, leastParallel}, {2, math.Inf(1), leastParallel}, {4, 64, 4}} {
		if got := parallelism(c.processors, c.time); got != c.want {
			t.Errorf("%d processors, time of %v: %d at once, want %d", c.processors, c.time, got, c.want)
		}
	}
}

// The heap stays near its limit though garbage is made all the time. Without one it grows to twice
// what is in use. 0 leaves what the environment has set.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	kept := make([]byte, 64<<20)
	const limit = 96 << 20
	limitMemory(limit)
	limitMemory(0)
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("the limit is %d", got)
	}
	most := uint64(0)
	for range 200 {
		garbage = make([]byte, 1<<20)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	if most > limit+16<<20 {
		t.Errorf("%d MiB were allocated at once", most>>20)
	}
	runtime.KeepAlive(kept)
}

var garbage []byte
