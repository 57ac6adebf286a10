// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/author/check"
	"github.com/penstock/penstock/host/author/cost"
	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func TestPlugin_AuthorsWrongUse(t *testing.T) {
	empty := t.TempDir()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no name":             {[]string{"new"}, "an argument is missing"},
		"a bad name":          {[]string{"new", filepath.Join(empty, "Frog")}, `the name "Frog" cannot be used`},
		"a language":          {[]string{"new", filepath.Join(empty, "frog"), "--lang", "cobol"}, "go, tinygo, rust or js"},
		"a kind":              {[]string{"new", filepath.Join(empty, "frog"), "--kind", "mask"}, "sampler, stop, template or program"},
		"nothing to build":    {[]string{"build", empty}, "plugin new NAME"},
		"nothing to develop":  {[]string{"dev", empty}, "plugin new NAME"},
		"a config":            {[]string{"dev", empty, "--plugin-config", "{"}, "must be JSON"},
		"a folder of no host": {[]string{"dev", empty, "--plugin-dir", empty}, "--server"},
		"a small vocabulary":  {[]string{"bench", empty, "--vocabulary", "3"}, "at least 300"},
		"update and replay":   {[]string{"test", empty, "--update", "--replay", "x"}, "update"},
	} {
		t.Run(name, func(t *testing.T) {
			got := penstock(t, "", append([]string{"plugin"}, tc.args...)...)
			if got.code != exitWrongUse || !strings.Contains(got.err, tc.want) || got.out != "" {
				t.Errorf("exit %d, output %q, error %q; want %d and %q", got.code, got.out, got.err, exitWrongUse, tc.want)
			}
		})
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("something was made: %v %v", entries, err)
	}
}

// A case that the plugin does not keep to fails the test, which shows the call; --update fixes the
// case.
func TestPluginTest_GoldenCases(t *testing.T) {
	offline(t)
	dir := begun(t, "tinygo", "stop")
	edit(t, dir, "go", `"default": 1}`, `"default": 2}`)
	got := penstock(t, "", "plugin", "test", dir, "--conversations", "2")
	for _, want := range []string{"sentences.json, session 1 (one sentence) differs at call 5, stop", "session 2 (two sentences): all 5 calls as the case says"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	if got.code != exitFailed || !strings.Contains(got.err, "--update") {
		t.Errorf("exit %d, %q", got.code, got.err)
	}
	if got := penstock(t, "", "plugin", "test", dir, "--conversations", "2", "--update"); got.code != exitDone || !strings.Contains(got.out, "1 of 5 calls written anew") {
		t.Errorf("update: exit %d\n%s%s", got.code, got.out, got.err)
	}
	got = penstock(t, "", "plugin", "test", dir, "--conversations", "2", "--json")
	var report testReport
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitDone || len(report.Checks) != 2 || len(report.Cases) != 3 {
		t.Errorf("exit %d, %v\n%s%s", got.code, err, got.out, got.err)
	}
}

// begun begins a plugin. One in Go itself is quick to build, one of TinyGo quick to load.
func begun(t *testing.T, language, kind string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-"+kind)
	if got := penstock(t, "", "plugin", "new", dir, "--lang", language, "--kind", kind); got.code != exitDone || got.out != dir+"\n" {
		t.Fatalf("exit %d, %q\n%s", got.code, got.out, got.err)
	}
	return dir
}

func TestPluginBuild_ShowsWhatTheCompilerSays(t *testing.T) {
	offline(t)
	dir := begun(t, "go", "sampler")
	edit(t, dir, "go", "return bytes.Contains(", "return bytes.Holds(")
	got := penstock(t, "", "plugin", "build", dir)
	if got.code != exitFailed || got.out != "" || !strings.Contains(got.err, "undefined: bytes.Holds") || !strings.Contains(got.err, "main.go:") {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.err)
	}
	edit(t, dir, "go", "return bytes.Holds(", "return bytes.Contains(")
	edit(t, dir, "go", "Sample(c *penstock.Candidates) penstock.Choice", "Sample(c *penstock.Candidates, _ int) penstock.Choice")
	if got := penstock(t, "", "plugin", "build", dir); got.code != exitFailed || !strings.Contains(got.err, "Sample") {
		t.Errorf("a wrong signature: exit %d\n%s%s", got.code, got.out, got.err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.wasm*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func TestPluginBench_JSON(t *testing.T) {
	wasm := filepath.Join("..", "..", "build", "plugins", "min-p.wasm")
	if _, err := os.Stat(wasm); err != nil {
		t.Fatalf("%v: run `make plugins` first", err)
	}
	got := penstock(t, "", "plugin", "bench", wasm, "--tokens", "20", "--vocabulary", "2000", "--json")
	var report cost.Report
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitDone || report.Plugin != "min-p" || len(report.Hooks) != 2 || len(report.BuiltIn) < 4 {
		t.Errorf("exit %d, %v\n%s%s", got.code, err, got.out, got.err)
	}
}

// Without --server dev serves the built-in model itself, prints what the plugin logs, and leaves
// nothing behind.
func TestPluginDev_OwnHost(t *testing.T) {
	offline(t)
	dir := begun(t, "go", "sampler")
	edit(t, dir, "go", "func (s *sampler) Open(r *penstock.Request) error {", "func (s *sampler) Open(r *penstock.Request) error {\n\tpenstock.Log(penstock.Info, \"hello from the plugin\")")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	rounds, end := startDev(t.Context(), t, dir, "--json", "--prompt", story)
	if r := round(t, rounds); r.After == nil || strings.Contains(r.After.Text, "e") || !strings.Contains(r.Before.Text, "e") {
		t.Errorf("%+v", r)
	}
	rest, log := end()
	if rest != "" {
		t.Errorf("after the end: %s", rest)
	}
	if !strings.Contains(log, "a-sampler: INFO: hello from the plugin") {
		t.Error(log)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "penstock-*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func TestPluginCheck_FindsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	strict := asm.New(`{"name":"strict","config_schema":{"required":["p"]}}`).On("penstock_accept", asm.I32(0))
	for name, g := range map[string]*asm.Guest{
		"well.wasm":   asm.New(`{"name":"well"}`).On("penstock_accept", asm.I32(0)),
		"traps.wasm":  asm.New(`{"name":"traps"}`).On("penstock_accept", asm.Unreachable),
		"strict.wasm": strict,
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), g.Wasm(), 0o600))
	}
	for name, tc := range map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"well":             {[]string{"well.wasm"}, exitDone, "nothing wrong was found", ""},
		"traps":            {[]string{"well.wasm", "traps.wasm"}, exitFailed, "penstock_accept: trap", "traps.wasm: something is wrong"},
		"no configuration": {[]string{"strict.wasm"}, exitFailed, "", "strict.wasm: the configuration: "},
		"a configuration":  {[]string{"strict.wasm", "--plugin-config", `{"p":1}`}, exitDone, "nothing wrong", ""},
		"no file":          {[]string{"none.wasm"}, exitFailed, "", "none.wasm"},
		"nothing":          {nil, exitWrongUse, "", "FILE..."},
	} {
		args := []string{"plugin", "check", "--conversations", "2", "--tokens", "8"}
		for _, a := range tc.args {
			if filepath.Ext(a) == ".wasm" {
				a = filepath.Join(dir, a)
			}
			args = append(args, a)
		}
		got := penstock(t, "", args...)
		if got.code != tc.code || !strings.Contains(got.out, tc.out) || !strings.Contains(got.err, tc.err) {
			t.Errorf("%s: exit %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
	got := penstock(t, "", "plugin", "check", "--json", "--conversations", "2", "--tokens", "8", filepath.Join(dir, "well.wasm"))
	var reports []check.Report
	if err := json.Unmarshal([]byte(got.out), &reports); err != nil || len(reports) != 1 || reports[0].Plugin != "well" {
		t.Errorf("%s: %v", got.out, err)
	}
}

func TestPluginTest_Replay(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, text, 0o600))
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
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
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

// A new script of each kind does what its golden cases say and needs no compiler. The other
// commands know no kinds: one a day is enough to see that they take it as a folder and as a file.
func TestPluginNew_Script_Works(t *testing.T) {
	elsewhere := steadytest.Some(t, project.Kinds, 1)
	for _, kind := range project.Kinds {
		dir := filepath.Join(t.TempDir(), "frog")
		if got := penstock(t, "", "plugin", "new", "--lang", "js", "--kind", string(kind), dir); got.code != 0 {
			t.Fatalf("%s: %+v", kind, got)
		}
		got := penstock(t, "", "plugin", "test", dir, "--conversations", "2", "--tokens", "4")
		if got.code != 0 || !strings.Contains(got.out, "as the case says") {
			t.Errorf("%s: %+v", kind, got)
		}
		if !slices.Contains(elsewhere, kind) {
			continue
		}
		file := filepath.Join(dir, "frog.js")
		for _, args := range [][]string{
			{"check", file, "--conversations", "2", "--tokens", "4"}, {"bench", file, "--vocabulary", "300", "--tokens", "4"}, {"inspect", file}, {"build", dir},
			{"list", "--plugin-dir", dir}, {"list", "--plugin-dir", dir, "--lock"},
		} {
			if got := penstock(t, "", append([]string{"plugin"}, args...)...); got.code != 0 || !strings.Contains(got.out, "frog") {
				t.Errorf("%s: %q: %+v", kind, args, got)
			}
		}
	}
}

// What is wrong with a script is told with its line.
func TestPluginCheck_Script_NamesTheLine(t *testing.T) {
	for source, says := range map[string]string{
		"export function sample(c) {\n  let = ;\n}":           "script.js:2:",
		"export function sample(c) {\n  c.nothing.at.all;\n}": "script.js:2:",
	} {
		file := filepath.Join(t.TempDir(), "frog.js")
		must.Do(t, os.WriteFile(file, []byte(source), 0o600))
		if got := penstock(t, "", "plugin", "check", file); got.code == 0 || !strings.Contains(got.out+got.err, says) {
			t.Errorf("%s: %+v", source, got)
		}
	}
}

func TestRun_Script(t *testing.T) {
	dir := t.TempDir()
	one, other := filepath.Join(dir, "one.js"), filepath.Join(dir, "other.js")
	for file, source := range map[string]string{
		one:   `export const plugin = {place: "first"}; export function sample(c) { c.filter(s => !s.includes("e")); }`,
		other: "\n\nexport function stop(text) { throw new Error('no'); }",
	} {
		must.Do(t, os.WriteFile(file, []byte(source), 0o600))
	}
	const ask = "Tell me a story about a frog."
	plain := penstock(t, "", "run", "--temperature", "0", "--max-tokens", "20", ask)
	steered := penstock(t, "", "run", "--temperature", "0", "--max-tokens", "20", "--script", one, ask)
	if plain.code != 0 || steered.code != 0 || strings.Contains(steered.out, "e") || !strings.Contains(plain.out, "e") {
		t.Errorf("%+v, then %+v", plain, steered)
	}
	if got := penstock(t, "", "run", "--temperature", "0", "--max-tokens", "20", "--script", one, "--script", other, ask); got.code == 0 || !strings.Contains(got.err, "other") || !strings.Contains(got.err, "script.js:3:") {
		t.Errorf("%+v", got)
	}
	if got := penstock(t, "", "run", "--script", filepath.Join(dir, "none.js"), ask); got.code != 2 || !strings.Contains(got.err, "none.js") {
		t.Errorf("%+v", got)
	}
}
