// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/author/cost"
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
	cmd := child(t.Context(), t, "plugin", "dev", dir, "--json", "--prompt", story)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	if r := round(t, lines); r.After == nil || strings.Contains(r.After.Text, "e") || !strings.Contains(r.Before.Text, "e") {
		t.Errorf("%+v", r)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("after the end: %s", lines.Bytes())
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(log.String(), "a-sampler: INFO: hello from the plugin") {
		t.Errorf("%v\n%s", err, &log)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "penstock-*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
