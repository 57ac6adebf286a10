// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func pluginFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, wasm := range map[string][]byte{
		"good.wasm":   asm.New(`{"name":"good","version":"1.2","summary":"does good","hold":3}`).On("penstock_sample", asm.I32(-1)).Wasm(),
		"broken.wasm": []byte("hello"),
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), wasm, 0o600))
	}
	return dir
}

func TestPluginInspect_SaysWhatItIs(t *testing.T) {
	dir := pluginFolder(t)
	got := penstock(t, "", "plugin", "inspect", filepath.Join(dir, "good.wasm"))
	if got.code != exitDone {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	for _, want := range []string{"good", "1.2", "does good", "the best 256 candidates", "3 tokens", "penstock_sample", "sha256"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in\n%s", want, got.out)
		}
	}
	got = penstock(t, "", "plugin", "inspect", "--json", filepath.Join(dir, "good.wasm"))
	var found inspection
	if err := json.Unmarshal([]byte(got.out), &found); err != nil || found.Manifest.Name != "good" || len(found.SHA256) != 64 {
		t.Errorf("%q: %v", got.out, err)
	}
}

func TestPluginInspect_SaysWhatIsWrong(t *testing.T) {
	dir := pluginFolder(t)
	for name, tc := range map[string]struct {
		args []string
		code int
		text string
	}{
		"no module": {[]string{filepath.Join(dir, "broken.wasm")}, exitFailed, "does not begin with"},
		"no file":   {[]string{filepath.Join(dir, "none.wasm")}, exitFailed, "none.wasm"},
		"nothing":   {nil, exitWrongUse, "FILE"},
	} {
		got := penstock(t, "", append([]string{"plugin", "inspect"}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.err, tc.text) {
			t.Errorf("%s: exit %d, %q", name, got.code, got.err)
		}
	}
}

func TestPluginList_NamesAll(t *testing.T) {
	dir := pluginFolder(t)
	got := penstock(t, "", "plugin", "list", "--plugin-dir", dir)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if got.code != exitDone || len(lines) != 2 || !strings.Contains(lines[0], "failed") || !strings.Contains(lines[1], "ready") {
		t.Errorf("exit %d, %q, %s", got.code, got.out, got.err)
	}
	if none := penstock(t, "", "plugin", "list", "--plugin-dir", filepath.Join(dir, "none")); none.code != exitDone || none.out != "" {
		t.Errorf("exit %d, %q", none.code, none.out)
	}
}

func TestPluginPush_Refusals(t *testing.T) {
	dir := pluginFolder(t)
	good := filepath.Join(dir, "good.wasm")
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no plugin":    {[]string{filepath.Join(dir, "broken.wasm"), "localhost:1/a"}, exitFailed, "does not begin with"},
		"no file":      {[]string{filepath.Join(dir, "none.wasm"), "localhost:1/a"}, exitFailed, "none.wasm"},
		"no registry":  {[]string{good, "localhost:1/a"}, exitFailed, "localhost:1/a"},
		"under digest": {[]string{good, "localhost:1/a@sha256:" + strings.Repeat("0", 64)}, exitWrongUse, "under a tag"},
		"one argument": {[]string{good}, exitWrongUse, "REFERENCE"},
	} {
		got := penstock(t, "", append([]string{"plugin", "push"}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.err, tc.says) {
			t.Errorf("%s: exit %d, %s", name, got.code, got.err)
		}
	}
}
