// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/host/author/dev"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// authorHome is where compilers keep what they have compiled; TestMain changes HOME.
var authorHome = os.Getenv("HOME")

// authored is what a new plugin of a kind does, and how to tell whether an answer obeys it.
type authored struct {
	kind, before, after string // what is edited, and what it becomes
	obeys               func(t *testing.T, s *server, a *dev.TracedAnswer) (before, after bool)
}

var allAuthored = []authored{
	{"sampler", `"default": "e"`, `"default": "o"`, func(_ *testing.T, _ *server, a *dev.TracedAnswer) (before, after bool) {
		return a.Text != "" && !strings.Contains(a.Text, "e"), a.Text != "" && !strings.Contains(a.Text, "o")
	}},
	{"stop", `"default": 1}`, `"default": 2}`, func(_ *testing.T, _ *server, a *dev.TracedAnswer) (before, after bool) {
		n := strings.Count(a.Text, ".")
		ends := a.Reason == "stop" && strings.HasSuffix(a.Text, ".")
		return ends && n == 1, ends && n == 2
	}},
	{"template", `"default": "Once upon a time"`, `"default": "In a garden"`, func(t *testing.T, s *server, a *dev.TracedAnswer) (before, after bool) {
		return a.Text == goesOn(t, s, "Once upon a time"), a.Text == goesOn(t, s, "In a garden")
	}},
	{"program", `"default": 3`, `"default": 1`, func(t *testing.T, s *server, a *dev.TracedAnswer) (before, after bool) {
		greedy := goesOn(t, s, "")
		return a.Text != "" && a.Text != greedy, a.Text == greedy
	}},
}

// goesOn is how the model goes on from an opening of its answer.
func goesOn(t *testing.T, s *server, opening string) string {
	t.Helper()
	prompt := must.Get(json.Marshal("<|im_start|>user\n" + story + "<|im_end|>\n<|im_start|>assistant\n" + opening))(t)
	response := must.Get(http.Post(s.url+"/v1/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"prompt":%s,"max_tokens":60,"temperature":0}`, prompt))))(t)
	defer response.Body.Close()
	var answer struct{ Choices []struct{ Text string } }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Choices) != 1 {
		t.Fatal(err)
	}
	return answer.Choices[0].Text
}

// From an empty folder to a plugin that a live answer obeys, and from an edit to its effect: for
// each language and some kinds, offline, with a real server. The time of each step is reported and
// proves nothing: other tests may run beside it.
func TestPluginAuthor_FromEmptyFolderToObeyedPlugin(t *testing.T) {
	offline(t)
	ctx, cancel := context.WithTimeout(t.Context(), 14*time.Minute)
	defer cancel()
	const key = "the-admin-key-of-the-test"
	folder := t.TempDir()
	s := startServer(ctx, t, "--admin-key", key, "--plugin-dir", folder, "--log-level", "error")
	asked := []string{"--server", s.url, "--admin-key", key, "--plugin-dir", folder, "--prompt", story, "--temperature", "0"}
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	some := steadytest.Some(t, allAuthored, 3)
	for i, language := range []string{"tinygo", "rust", "go"} {
		for j, a := range some { // one kind for each, in `make test-long` all
			if i == j || steadytest.Long() {
				t.Run(language+" "+a.kind, func(t *testing.T) { a.try(ctx, t, s, asked, language) })
			}
		}
	}
}

// offline takes the network from the compilers, and gives them what they have kept.
func offline(t *testing.T) {
	t.Helper()
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	tinygo := filepath.Join(root, "build", "tools", "tinygo", "bin", "tinygo")
	switch given := os.Getenv("TINYGO"); {
	case given == "":
		if _, err := os.Stat(tinygo); err != nil {
			t.Fatalf("%v: run `make plugins-go` first, or name TinyGo's command in TINYGO", err)
		}
		t.Setenv("TINYGO", tinygo)
	case !filepath.IsAbs(given) && filepath.Base(given) != given: // of make, which runs in the root
		t.Setenv("TINYGO", filepath.Join(root, given))
	}
	goCache := exec.Command("go", "env", "GOCACHE")
	goCache.Env = append(os.Environ(), "HOME="+authorHome, "XDG_CACHE_HOME=")
	kept := must.Get(goCache.Output())(t)
	for name, value := range map[string]string{
		"GOCACHE": strings.TrimSpace(string(kept)), "GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CARGO_NET_OFFLINE": "true",
		"RUSTUP_HOME": filepath.Join(authorHome, ".rustup"), "HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1",
	} {
		t.Setenv(name, value)
	}
}

// step runs a part of the work and reports how long it took.
func step(t *testing.T, what string, work func()) {
	t.Helper()
	begin := time.Now()
	work()
	t.Logf("%-28s %6.2f s", what, time.Since(begin).Seconds())
}

func (a authored) try(ctx context.Context, t *testing.T, s *server, asked []string, language string) {
	name := a.kind + "-in-" + language
	dir := filepath.Join(t.TempDir(), name)
	must := func(args ...string) string {
		got := penstock(t, "", append([]string{"plugin"}, args...)...)
		if got.code != exitDone {
			t.Fatalf("penstock plugin %q: exit %d\n%s%s", args, got.code, got.out, got.err)
		}
		return got.out
	}
	begin := time.Now()
	step(t, "new", func() { must("new", dir, "--lang", language, "--kind", a.kind) })
	step(t, "build", func() { must("build", dir) })
	step(t, "build, test, golden cases", func() {
		if out := must("test", dir); !strings.Contains(out, "nothing wrong was found") || !strings.Contains(out, "session 2") {
			t.Errorf("%s", out)
		}
	})
	step(t, "its own native test", func() { testNatively(t, dir, language) })
	var rounds *bufio.Scanner
	var end func() (rest, log string)
	var first dev.Round
	step(t, "dev: build, upload, answer", func() {
		rounds, end = startDev(ctx, t, append([]string{dir, "--json"}, asked...)...)
		first = round(t, rounds)
	})
	defer end()
	t.Logf("%-28s %6.2f s", "in all, until it is obeyed", time.Since(begin).Seconds())
	if before, after := a.obeys(t, s, first.After); !before || after || first.Difference == nil || first.Plugin != name {
		t.Errorf("the plugin is not obeyed: %+v", first.After)
	}
	var second dev.Round
	step(t, "from an edit to its effect", func() {
		edit(t, dir, language, a.before, a.after)
		second = round(t, rounds)
	})
	t.Logf("%-28s %6.2f s, %.2f s, %.2f s", "  its build, load, answer", second.BuildMS/1000, second.LoadMS/1000, second.AnswerMS/1000)
	if before, after := a.obeys(t, s, second.After); before || !after || second.Difference == nil {
		t.Errorf("the edit has no effect: %+v", second.After)
	}
	a.breaks(t, s, rounds, dir, language)
}

// breaks sees that the last build stays while the project does not compile.
func (a authored) breaks(t *testing.T, s *server, rounds *bufio.Scanner, dir, language string) {
	t.Helper()
	field := map[string]string{"go": "ConfigSchema", "tinygo": "ConfigSchema", "rust": "config_schema"}[language]
	edit(t, dir, language, field, "x"+field)
	if broken := round(t, rounds); broken.Error == "" || broken.After != nil {
		t.Errorf("what does not compile is loaded: %+v", broken)
	}
	edit(t, dir, language, "x"+field, field)
	fixed := round(t, rounds)
	if _, after := a.obeys(t, s, fixed.After); !after || fixed.Difference != nil {
		t.Errorf("after an error that was fixed: %+v", fixed)
	}
}

// testNatively runs the project's native tests.
func testNatively(t *testing.T, dir, language string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if language == "rust" {
		cmd = exec.CommandContext(t.Context(), "/usr/bin/cargo", "test", "--quiet")
		cmd.Env = append(os.Environ(), "RUSTC=/usr/bin/rustc")
	}
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// startDev runs `penstock plugin dev` as a process of its own. end interrupts it, as Ctrl-C does,
// and returns the rounds that were not read, and the log.
func startDev(ctx context.Context, t *testing.T, args ...string) (rounds *bufio.Scanner, end func() (rest, log string)) {
	t.Helper()
	cmd := child(ctx, t, append([]string{"plugin", "dev"}, args...)...)
	var log strings.Builder
	cmd.Stderr = &log
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	rounds = bufio.NewScanner(out)
	rounds.Buffer(nil, 1<<26)
	return rounds, func() (string, string) {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		var rest strings.Builder
		for rounds.Scan() {
			fmt.Fprintln(&rest, rounds.Text())
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("dev ended with %v\n%s", err, &log)
		}
		return rest.String(), log.String()
	}
}

func round(t *testing.T, rounds *bufio.Scanner) dev.Round {
	t.Helper()
	if !rounds.Scan() {
		t.Fatalf("dev has ended: %v", rounds.Err())
	}
	var r dev.Round
	must.Do(t, json.Unmarshal(rounds.Bytes(), &r))
	if r.Error == "" && r.After == nil {
		t.Fatalf("%s", rounds.Bytes())
	}
	return r
}

// edit changes a plugin's source.
func edit(t *testing.T, dir, language, from, to string) {
	t.Helper()
	path := filepath.Join(dir, "main.go")
	if language == "rust" {
		path = filepath.Join(dir, "src", "lib.rs")
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), from) != 1 {
		t.Fatalf("%s has not one %s: %v", path, from, err)
	}
	must.Do(t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
}

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
	source := must.Get(os.ReadFile(filepath.Join("..", "..", "plugins", "examples", "min-p", "main.go")))(t)
	build := func(as string) string {
		if got := penstock(t, "", "plugin", "build", dir); got.code != exitDone {
			t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
		}
		as = filepath.Join(t.TempDir(), as)
		must.Do(t, os.Rename(filepath.Join(dir, "min-p.wasm"), as))
		return as
	}
	if got := penstock(t, "", "plugin", "new", dir, "--lang", "tinygo", "--kind", "sampler"); got.code != exitDone {
		t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "main.go"), source, 0o600))
	before = build("before.wasm")
	edit(t, dir, "tinygo", from, to)
	return before, build("after.wasm")
}

// upload has the server use a module from the next request on.
func (s *server) upload(t *testing.T, module, key string) {
	t.Helper()
	wasm := must.Get(os.Open(module))(t)
	defer func() { _ = wasm.Close() }()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/plugins", wasm))(t)
	request.Header.Set("Content-Type", "application/wasm")
	request.Header.Set("Authorization", "Bearer "+key)
	s.do(t, request)
}

// drawn asks for an answer that min-p draws, and returns its tokens and the file of its recording.
func (s *server) drawn(t *testing.T, seed int) (tokens []string, recording string) {
	t.Helper()
	body := fmt.Sprintf(`{"prompt":"Once upon a time","max_tokens":60,"ignore_eos":true,"seed":%d,"record":true,"trace":true,"samplers":["plugin:min-p"],
		"plugins":[{"name":"min-p","config":{"min_p":1,"draw":true}}]}`, seed)
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/completions", strings.NewReader(body)))(t)
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
	request = must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/recordings/"+answer.Recording, nil))(t)
	recording = filepath.Join(t.TempDir(), "trace.json.gz")
	must.Do(t, os.WriteFile(recording, s.do(t, request), 0o600))
	return tokens, recording
}

// do sends a request that must succeed.
func (s *server) do(t *testing.T, request *http.Request) []byte {
	t.Helper()
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %v\n%s", request.Method, request.URL, response.Status, err, body)
	}
	return body
}
