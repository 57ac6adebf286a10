// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock/penstock/host/config"
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
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not say where it is: %v\n%v\n%s", err, s.cmd.Wait(), &s.log)
	}
	s.url = strings.TrimSpace(line)
	return s
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
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	events := bufio.NewReader(response.Body)
	if _, err := events.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
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
	listen, err := config.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("exit after SIGTERM: %v\n%s", err, &s.log)
	}
}
