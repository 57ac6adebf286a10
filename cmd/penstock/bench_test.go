// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/lab/bench"
	"github.com/penstock/penstock/tools/must"
)

// smallLoad is over in a moment.
var smallLoad = []string{"--clients", "2", "--requests", "3", "--prompt-words", "3", "--max-tokens", "4"}

func TestBench_MeasuresItsOwnServer(t *testing.T) {
	t.Setenv(asMain, "1")
	file := filepath.Join(t.TempDir(), "bench.json")
	for _, protocol := range []string{"sse", "ws"} {
		got := penstock(t, "", append(smallLoad, "bench", "--protocol", protocol, "--json", "--out", file, "--parallel", "2", "--ctx-size", "512")...)
		if got.code != exitDone {
			t.Fatalf("%s: exit %d: %s", protocol, got.code, got.err)
		}
		written, err := os.ReadFile(file)
		if err != nil || string(written) != got.out {
			t.Errorf("the file is not what was printed (%v)", err)
		}
		var report bench.Report
		must.Do(t, json.Unmarshal([]byte(got.out), &report))
		s := report.Runs[0].Total
		if s.Requests != 3 || s.Failed != 0 || s.Tokens != 12 || s.TTFT.Count != 3 || s.TokensPerSecond <= 0 || s.PromptTokens < 9 {
			t.Errorf("%s: %+v", protocol, s)
		}
		if !strings.Contains(got.err, "load on penstock, round 1") {
			t.Errorf("no progress on standard error: %q", got.err)
		}
	}
}

// A server that ends waits for the WebSockets of its clients.
func TestBench_ClosesConnectionsBeforeTheirServer(t *testing.T) {
	var closed []string
	s := benchServers{closers: []func(){func() { closed = append(closed, "server") }, func() { closed = append(closed, "its connections") }}}
	if s.close(); !slices.Equal(closed, []string{"its connections", "server"}) {
		t.Errorf("closed are %q", closed)
	}
}

// TestBench_PassesPluginsOn: the flags of a list reach the server that is measured one by one, as
// they were given.
func TestBench_PassesPluginsOn(t *testing.T) {
	t.Setenv(asMain, "1")
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		wasm := asm.New(`{"name":"`+name+`","view":"none"}`).On(abi.ExportSample, asm.I32(-1)).Wasm()
		must.Do(t, os.WriteFile(filepath.Join(dir, name+".wasm"), wasm, 0o600))
	}
	got := penstock(t, "", append(smallLoad, "bench", "--plugin-dir", dir, "--plugin", "one", "--plugin", "two", "--parallel", "2", "--ctx-size", "512")...)
	if got.code != exitDone {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	got = penstock(t, "", append(smallLoad, "bench", "--plugin-dir", dir, "--plugin", "one", "--plugin", "nonesuch")...)
	if got.code != exitFailed || !strings.Contains(got.err, "nonesuch") || strings.Contains(got.err, "[") {
		t.Errorf("an unknown plugin: exit %d: %s", got.code, got.err)
	}
}

func TestBench_ComparesTwoServers(t *testing.T) {
	s := startServer(t.Context(), t)
	got := penstock(t, "", append(smallLoad, "bench", "--max-tokens", "60", "--url", s.url, "--against", s.url+"/", "--rounds", "2")...)
	if got.code != exitDone || strings.Count(got.err, "round 2") != 2 || !strings.Contains(got.out, "ITL p99 ms") {
		t.Errorf("exit %d, output %q, error %q", got.code, got.out, got.err)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = s.cmd.Wait() // it was killed
	got = penstock(t, "", append(smallLoad, "bench", "--url", s.url)...)
	if got.code != exitFailed || !strings.Contains(got.err, "3 of 3 requests") || !strings.Contains(got.err, "refused") {
		t.Errorf("a dead server: exit %d, error %q", got.code, got.err)
	}
}

func TestBench_WrongUse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"protocol":          {[]string{"--protocol", "tcp"}, `--protocol is "tcp"`},
		"endpoint":          {[]string{"--endpoint", "text"}, `--endpoint is "text"`},
		"rounds":            {[]string{"--rounds", "0"}, "--rounds is 0"},
		"limit":             {[]string{"--limit", "0s"}, "--limit is 0s"},
		"scenario":          {[]string{"--scenario", "fast"}, `"fast" is not known`},
		"scenario and load": {[]string{"--scenario", "single", "--clients", "2"}, "exclude each other"},
		"two seconds":       {[]string{"--against", "http://x", "--peer", "y"}, "exclude each other"},
		"peer of a url":     {[]string{"--url", "http://x", "--peer", "y"}, "exclude each other"},
		"model of a url":    {[]string{"--url", "http://x", "model.gguf"}, "exclude each other"},
		"peer, no file":     {[]string{"--peer", "y"}, "a GGUF file"},
		"load":              {[]string{"--prompt-words", "0"}, "prompts of 0 words"},
		"long prompts":      {[]string{"--long-words", "0"}, "prompts of 0 words"},
		"rate":              {[]string{"--rate", "2", "--clients", "2"}, "exclude each other"},
	} {
		t.Run(name, func(t *testing.T) {
			got := penstock(t, "", append([]string{"bench"}, tc.args...)...)
			if got.code != exitWrongUse || !strings.Contains(got.err, tc.want) || got.out != "" {
				t.Errorf("exit %d, error %q, output %q; want %d and %q", got.code, got.err, got.out, exitWrongUse, tc.want)
			}
		})
	}
}

func TestReadFirstKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	must.Do(t, os.WriteFile(file, []byte("# of the team\none alice\ntwo bob\n"), 0o600))
	for want, s := range map[string]config.Server{
		"": {}, "flag": {APIKeys: []string{"flag", "other"}, APIKeyFile: file}, "one": {APIKeyFile: file},
	} {
		if got, err := readFirstKey(s); got != want || err != nil {
			t.Errorf("%+v: %q %v, want %q", s, got, err, want)
		}
	}
	if _, err := readFirstKey(config.Server{APIKeyFile: file + "x"}); err == nil {
		t.Error("a missing file was read")
	}
}
