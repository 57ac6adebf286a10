// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/tools/must"
)

// server is a `penstock serve` in a process of its own.
type server struct {
	cmd *exec.Cmd
	url string
	log bytes.Buffer
}

func startServer(ctx context.Context, t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{cmd: child(ctx, t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	s.cmd.Stderr = &s.log
	out := must.Get(s.cmd.StdoutPipe())(t)
	must.Do(t, s.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not say where it is: %v\n%v\n%s", err, s.cmd.Wait(), &s.log)
	}
	s.url = strings.TrimSpace(line)
	return s
}

// post sends JSON.
func post(ctx context.Context, t testing.TB, url, body string) *http.Response {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/json")
	return must.Get(http.DefaultClient.Do(request))(t)
}

func TestServe_FinishesAnswersOnSIGTERM(t *testing.T) {
	finishesAnswersOn(t, syscall.SIGTERM, "signal: terminated")
}

// A hangup, as of a terminal that is closed, does not cut answers off, and the log says that it
// ends the server.
func TestServe_FinishesAnswersOnSIGHUP(t *testing.T) {
	finishesAnswersOn(t, syscall.SIGHUP, "SIGHUP, which ends the server as SIGTERM does")
}

func finishesAnswersOn(t *testing.T, sent syscall.Signal, says string) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // where these tests were started with nohup, the server would ignore it as well
	defer signal.Stop(hup)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := startServer(ctx, t)
	body := `{"messages":[{"role":"user","content":"` + story + `"}],"stream":true,"temperature":0}`
	response := post(ctx, t, s.url+"/v1/chat/completions", body)
	defer func() { _ = response.Body.Close() }()
	events := bufio.NewReader(response.Body)
	must.Get(events.ReadString('\n'))(t)
	if err := s.cmd.Process.Signal(sent); err != nil { // the answer has begun
		t.Fatal(err)
	}
	rest, err := io.ReadAll(events)
	if err != nil || !strings.Contains(string(rest), `"finish_reason":"stop"`) || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("the answer was cut off: %v\n%s", err, rest)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("exit after %v: %v\n%s", sent, err, &s.log)
	}
	if !strings.Contains(s.log.String(), says) {
		t.Errorf("the log does not say %q: %s", says, &s.log)
	}
}

func TestServe_AddressInUse(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := startServer(ctx, t)
	address := strings.TrimPrefix(s.url, "http://")
	listen := must.Get(config.ParseAddress(address))(t)
	got := penstock(t, "", "serve", "--listen", address)
	for _, want := range []string{address, "address already in use", "--listen"} {
		if !strings.Contains(got.err, want) {
			t.Errorf("the error %q does not say %q", got.err, want)
		}
	}
	if got.code != exitFailed {
		t.Errorf("exit %d, want %d", got.code, exitFailed)
	}
	if f := listenFinding(ctx, config.Server{Listen: listen}); f.State != stateWarn || !strings.Contains(f.Detail, "in use") {
		t.Errorf("the doctor finds %+v, want a warning that the address is in use", f)
	}
	must.Do(t, s.cmd.Process.Signal(syscall.SIGTERM))
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("exit after SIGTERM: %v\n%s", err, &s.log)
	}
}

// A worker tells its address, doctor finds its devices, and a signal ends it.
func TestWorker(t *testing.T) {
	w := startWorker(t, 0, "--listen", "127.0.0.1:0", "--kernels", "penstock", "--threads", "0") // as if neither were given
	if got := penstock(t, "", "doctor", "--rpc", w.address); !strings.Contains(got.out, "CPU of "+w.address) {
		t.Errorf("doctor does not list the worker: %s%s", got.out, got.err)
	}
	must.Do(t, w.cmd.Process.Signal(syscall.SIGTERM))
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &w.log)
	}
	if got := penstock(t, "", "doctor", "--rpc", w.address); got.code != exitFailed || !strings.Contains(got.out, "the worker "+w.address+" cannot be reached") {
		t.Errorf("doctor without the worker: %s%s", got.out, got.err)
	}
}

// A cache folder that cannot be used costs time, and not the worker.
func TestWorker_CacheUnusable(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	must.Do(t, os.MkdirAll(filepath.Join(home, "penstock"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(home, "penstock", "tensors"), nil, 0o600))
	w := startWorker(t, 0, "--listen", "127.0.0.1:0")
	if got := penstock(t, "", "doctor", "--rpc", w.address); !strings.Contains(got.out, "CPU of "+w.address) {
		t.Errorf("the worker serves nobody: %s%s", got.out, got.err)
	}
	if !strings.Contains(w.log.String(), "the cache folder cannot be used") {
		t.Errorf("the log does not say so: %s", &w.log)
	}
}

func TestWorker_WrongUse(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"worker", "--listen", "0.0.0.0:0"}, exitWrongUse, "0.0.0.0:0 is not on the loopback interface, and RPC has neither keys nor encryption"},
		{[]string{"worker", "--listen", "[]:0", "--insecure"}, exitWrongUse, `--listen is "[]:0"; it must be HOST:PORT`},
		{[]string{"serve", "--host", "127.0.0.1", "--host", "::1"}, exitWrongUse, `it was "127.0.0.1" before, and only one can be served`},
		{[]string{"worker", "--tls-cert", "a.pem"}, exitWrongUse, "tls-ca"},
		{[]string{"worker", "--tls-cert", "a.pem", "--tls-key", "a.pem", "--tls-ca", "a.pem"}, exitFailed, "a.pem"},
		{[]string{"worker", "--tls-cert", "", "--tls-key", "", "--tls-ca", ""}, exitWrongUse, "--tls-cert is empty"},
		{[]string{"serve", "--api-key", ""}, exitWrongUse, "server.api_keys (flag --api-key): is empty"},
		{[]string{"worker", "--device", "GPU77"}, exitFailed, `--device names "GPU77", which is no device of this machine`},
		{[]string{"worker", "--kernels", "popcorn"}, exitWrongUse, `--kernels is "popcorn"; it can be penstock, amx, ggml or plain`},
		{[]string{"serve", "--rpc", "10.0.0.1"}, exitWrongUse, "workers.rpc"},
		{[]string{"serve", "--tls-cert", "a.pem"}, exitWrongUse, "workers.tls_ca"},
	} {
		if got := penstock(t, "", c.args...); got.code != c.code || !strings.Contains(got.err, c.want) {
			t.Errorf("penstock %v = %d, %q; want %d and %q", c.args, got.code, got.err, c.code, c.want)
		}
	}
}

func TestHealth(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("it asks for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"status":"said"}`))
	}))
	if got := penstock(t, "", "health", server.URL+"/"); got.code != exitDone || !strings.Contains(got.out, "said") {
		t.Errorf("a ready server: %+v", got)
	}
	status = http.StatusServiceUnavailable
	if got := penstock(t, "", "health", server.URL); got.code != exitFailed || !strings.Contains(got.err, "is not ready: 503") || !strings.Contains(got.err, "said") {
		t.Errorf("one that is not ready: %+v", got)
	}
	server.Close()
	if got := penstock(t, "", "health", server.URL); got.code != exitFailed || !strings.Contains(got.err, "no server answers") {
		t.Errorf("none: %+v", got)
	}
	if got := penstock(t, "", "health", "http://[nowhere"); got.code != exitWrongUse {
		t.Errorf("no URL: %+v", got)
	}
}
