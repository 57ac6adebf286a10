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
