// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/penstock/penstock/tools/must"
)

// What the program exits with.
const (
	done     = 0
	failed   = 1
	wrongUse = 2
)

// result is what a command left.
type result struct {
	code     int
	out, err string
}

// penstock runs the program that `make build` has made.
func penstock(t *testing.T, args ...string) result {
	t.Helper()
	var out, errOut strings.Builder
	cmd := exec.CommandContext(t.Context(), "../../bin/penstock", args...)
	cmd.Env = append(os.Environ(), "PENSTOCK_PLUGINS_BUNDLED=off") // a checkout may have them or not
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// pluginFolder has one plugin that is whole and a file that is none.
func pluginFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, wasm := range map[string][]byte{"good.wasm": module, "broken.wasm": []byte("hello")} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), wasm, 0o600))
	}
	return dir
}

// From one folder to another through a registry; what a lock does not have stays out.
func TestPluginPushPull_ThroughARegistry(t *testing.T) {
	for _, name := range []string{"DOCKER_CONFIG", "HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/team/good:1.2"
	from, to := pluginFolder(t), t.TempDir()

	pushed := penstock(t, "plugin", "push", "--json", filepath.Join(from, "good.wasm"), reference)
	var s struct{ Name, Reference, Lock string }
	if err := json.Unmarshal([]byte(pushed.out), &s); err != nil || pushed.code != done || s.Name != "good" {
		t.Fatalf("exit %d, %q, %s", pushed.code, pushed.out, pushed.err)
	}
	locked := penstock(t, "plugin", "list", "--lock", "--plugin-dir", from)
	if locked.code != done || strings.TrimSpace(locked.out) != s.Lock || !strings.Contains(locked.err, "broken.wasm is left out") {
		t.Errorf("exit %d, %q, %s; want %q", locked.code, locked.out, locked.err, s.Lock)
	}
	foreign := "good@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"by tag":          {[]string{reference}, done, s.Lock},
		"by digest":       {[]string{s.Reference}, done, s.Lock},
		"as it is locked": {[]string{reference, "--plugin-lock", s.Lock}, done, s.Lock},
		"locked":          {[]string{reference, "--plugin-lock", foreign}, failed, "plugins.lock"},
		"no lock":         {[]string{reference, "--plugin-lock", "good"}, wrongUse, "list --lock"},
		"no such tag":     {[]string{reference + "3"}, failed, "not in the registry"},
		"no reference":    {[]string{"good"}, wrongUse, "REGISTRY/REPOSITORY"},
		"nothing":         {nil, wrongUse, "REFERENCE"},
	} {
		got := penstock(t, append([]string{"plugin", "pull", "--plugin-dir", to}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.err, tc.says) {
			t.Errorf("%s: exit %d, %q, %s", name, got.code, got.out, got.err)
		}
		wasm, err := os.ReadFile(filepath.Join(to, "good.wasm"))
		if (err == nil) != (tc.code == done) || err == nil && strings.TrimSpace(got.out) != filepath.Join(to, "good.wasm") {
			t.Errorf("%s: %d bytes, %v; %q", name, len(wasm), err, got.out)
		}
		_ = os.Remove(filepath.Join(to, "good.wasm")) // it need not be there
	}
}
