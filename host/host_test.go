// SPDX-License-Identifier: MIT

package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	conn, _, err := websocket.Dial(ctx, h.URL()+"/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
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
