// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/asm"
)

func TestPluginTest_Replay(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	choosing := func(token int) []byte {
		return asm.New(`{"name":"pick","view":"none"}`).On("penstock_sample", asm.I32(token)).Wasm()
	}
	right, wrong := write("right.wasm", choosing(1)), write("wrong.wasm", choosing(2))
	other := write("other.wasm", asm.New(`{"name":"other"}`).Wasm())
	trace := write("trace.json", []byte(`{"penstock_session":1,"vocabulary":{"pieces":["a","b","c"]},"sessions":[
		{"plugin":{"name":"else"},"calls":[]},
		{"name":"case","plugin":{"name":"pick"},"calls":[{"call":"open"},{"call":"accept","token":0},{"call":"sample","answer":1}]}]}`))
	empty := write("empty.json", []byte(`{"penstock_session":1,"vocabulary":{"pieces":["a"]},"sessions":[]}`))
	broken := write("broken.json", []byte(`{"penstock_session":1,"vocabulary":{"pieces":["a"]},"sessions":[{"plugin":{}}]}`))
	for name, tc := range map[string]struct {
		args []string
		code int
		text string
	}{
		"the same":        {[]string{"--replay", trace, right}, exitDone, "session 2 (case): all 3 calls came out as recorded\n"},
		"another":         {[]string{"--replay", trace, wrong}, exitFailed, `session 2 (case) differs: call 3, sample, at answer token 2 (position 1): answer: recorded token 1 "b", came token 2 "c"`},
		"another plugin":  {[]string{"--replay", trace, other}, exitFailed, "there is no session of plugin other in it; its sessions are of: else, pick"},
		"no session file": {[]string{"--replay", broken, right}, exitFailed, "sessions[0].plugin.name: it is missing"},
		"no sessions":     {[]string{"--replay", empty, right}, exitFailed, "has no sessions"},
		"no file":         {[]string{"--replay", filepath.Join(dir, "none"), right}, exitFailed, "none"},
	} {
		got := penstock(t, "", append([]string{"plugin", "test"}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.out+got.err, tc.text) {
			t.Errorf("%s: exit %d, %q, %q", name, got.code, got.out, got.err)
		}
	}
	got := penstock(t, "", "plugin", "test", "--json", "--replay", trace, wrong)
	var report replayReport
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitFailed || report.Same || len(report.Sessions) != 1 {
		t.Fatalf("exit %d, %q: %v", got.code, got.out, err)
	}
	if d := report.Sessions[0].Difference; d == nil || d.Call != 3 || d.Answered != 1 || d.Field != "answer" {
		t.Errorf("got %+v", d)
	}
}

// Scripts of requests are played as they were recorded, or with the source of a file in place of
// theirs, which keeps the recorded config.
func TestPluginTest_Replay_ScriptsOfRequests(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	session := func(source string) string {
		return `{"plugin":{"name":"script"},"request":{"config":{"source":"` + source + `","config":{"token":1}}},
			"calls":[{"call":"open"},{"call":"sample","ids":[0,1,2],"logits":[3,2,1],"answer":1}]}`
	}
	const chooses = "export function sample(c) { return config.token }"
	file := func(sessions ...string) string {
		return `{"penstock_session":1,"vocabulary":{"pieces":["a","b","c"]},"sessions":[` + strings.Join(sessions, ",") + `]}`
	}
	trace := write("trace.json", file(session(chooses)))
	two := write("two.json", file(session(chooses), session(chooses+" // too")))
	odd := strings.ReplaceAll(session(""), `"source":""`, `"source":["no text"]`)
	lists := write("lists.json", file(odd, odd))
	right := write("right.js", "const token = config.token; export function sample() { return token; }")
	wrong := write("wrong.js", "export function sample(c) { return config.token + 1; }")
	for name, tc := range map[string]struct {
		trace, module string
		code          int
		text          string
	}{
		"as recorded":         {trace, "script", exitDone, "session 1: all 2 calls came out as recorded\n"},
		"both as recorded":    {two, "script", exitDone, "session 2: all 2 calls came out as recorded\n"},
		"one that does so":    {trace, right, exitDone, "session 1: all 2 calls came out as recorded\n"},
		"one that does not":   {trace, wrong, exitFailed, `recorded token 1 "b", came token 2 "c"`},
		"one in place of two": {two, right, exitFailed, "name script in place of a file"},
		"sources no texts":    {lists, right, exitFailed, "sessions[0].request.config: source is no text"},
	} {
		got := penstock(t, "", "plugin", "test", "--replay", tc.trace, tc.module)
		if got.code != tc.code || !strings.Contains(got.out+got.err, tc.text) {
			t.Errorf("%s: exit %d, %q, %q", name, got.code, got.out, got.err)
		}
	}
}
