// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// A plugin that TinyGo builds is changed by one constant. That a replay finds the first token that
// differs is known from the live answers of both builds: with the same draws they are the same up
// to that token.
func TestPluginAuthor_ChangedConstant_IsFoundAtItsFirstToken(t *testing.T) {
	offline(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	before, after := builtTwice(t, "kept := 1", "kept := 2")
	const key = "the-admin-key-of-the-test"
	s := startServer(ctx, t, "--admin-key", key, "--plugin-dir", t.TempDir(), "--log-level", "error")
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	seeds := steadytest.InLongTest(3, 1)
	recordings, tokens := make([]string, seeds), make([][]string, seeds)
	s.upload(t, before, key)
	for seed := range seeds {
		tokens[seed], recordings[seed] = s.drawn(t, seed)
	}
	s.upload(t, after, key)
	for seed := range seeds {
		changed, _ := s.drawn(t, seed)
		want := 0
		for want < len(changed) && changed[want] == tokens[seed][want] {
			want++
		}
		if want == len(changed) || len(changed) != len(tokens[seed]) {
			t.Fatalf("seed %d: the constant changes nothing: %q", seed, changed)
		}
		t.Logf("seed %d: answer token %d is %q, and was %q", seed, want+1, changed[want], tokens[seed][want])
		if got := penstock(t, "", "plugin", "test", "--replay", recordings[seed], before); got.code != exitDone || !strings.Contains(got.out, "came out as recorded") {
			t.Errorf("seed %d, unchanged: exit %d, %s%s", seed, got.code, got.out, got.err)
		}
		got := penstock(t, "", "plugin", "test", "--json", "--replay", recordings[seed], after)
		var report replayReport
		if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitFailed || len(report.Sessions) != 1 {
			t.Fatalf("seed %d: exit %d, %s%s: %v", seed, got.code, got.out, got.err, err)
		}
		if d := report.Sessions[0].Difference; d == nil || d.Answered != want || d.Name != "sample" || d.Field != "answer" {
			t.Errorf("seed %d: got %v, want a difference at answer token %d", seed, d, want+1)
		}
	}
}

// builtTwice makes a project of the example min-p, and builds it as it is and with an edit.
func builtTwice(t *testing.T, from, to string) (before, after string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "min-p")
	source, err := os.ReadFile(filepath.Join("..", "..", "plugins", "examples", "min-p", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	build := func(as string) string {
		if got := penstock(t, "", "plugin", "build", dir); got.code != exitDone {
			t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
		}
		as = filepath.Join(t.TempDir(), as)
		if err := os.Rename(filepath.Join(dir, "min-p.wasm"), as); err != nil {
			t.Fatal(err)
		}
		return as
	}
	if got := penstock(t, "", "plugin", "new", dir, "--lang", "tinygo", "--kind", "sampler"); got.code != exitDone {
		t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	before = build("before.wasm")
	edit(t, dir, "tinygo", from, to)
	return before, build("after.wasm")
}

// upload has the server use a module from the next request on.
func (s *server) upload(t *testing.T, module, key string) {
	t.Helper()
	wasm, err := os.Open(module)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = wasm.Close() }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/plugins", wasm)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/wasm")
	request.Header.Set("Authorization", "Bearer "+key)
	s.do(t, request)
}

// drawn asks for an answer that min-p draws, and returns its tokens and the file of its recording.
func (s *server) drawn(t *testing.T, seed int) (tokens []string, recording string) {
	t.Helper()
	body := fmt.Sprintf(`{"prompt":"Once upon a time","max_tokens":60,"ignore_eos":true,"seed":%d,"record":true,"trace":true,"samplers":["plugin:min-p"],
		"plugins":[{"name":"min-p","config":{"min_p":1,"draw":true}}]}`, seed)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	var answer struct {
		Recording string
		Choices   []struct{ Trace []struct{ Token string } }
	}
	if err := json.Unmarshal(s.do(t, request), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatal(err)
	}
	for _, token := range answer.Choices[0].Trace {
		tokens = append(tokens, token.Token)
	}
	request, err = http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/recordings/"+answer.Recording, nil)
	if err != nil {
		t.Fatal(err)
	}
	recording = filepath.Join(t.TempDir(), "trace.json.gz")
	if err := os.WriteFile(recording, s.do(t, request), 0o600); err != nil {
		t.Fatal(err)
	}
	return tokens, recording
}

// do sends a request that must succeed.
func (s *server) do(t *testing.T, request *http.Request) []byte {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %v\n%s", request.Method, request.URL, response.Status, err, body)
	}
	return body
}
