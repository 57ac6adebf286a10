// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// From one folder to another through a registry; what a lock does not have stays out.
func TestPluginPushPull_ThroughARegistry(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/team/good:1.2"
	from, to := pluginFolder(t), t.TempDir()

	pushed := penstock(t, "", "plugin", "push", "--json", filepath.Join(from, "good.wasm"), reference)
	var s shared
	if err := json.Unmarshal([]byte(pushed.out), &s); err != nil || pushed.code != exitDone || s.Name != "good" {
		t.Fatalf("exit %d, %q, %s", pushed.code, pushed.out, pushed.err)
	}
	locked := penstock(t, "", "plugin", "list", "--lock", "--plugin-dir", from)
	if locked.code != exitDone || strings.TrimSpace(locked.out) != s.Lock || !strings.Contains(locked.err, "broken.wasm is left out") {
		t.Errorf("exit %d, %q, %s; want %q", locked.code, locked.out, locked.err, s.Lock)
	}
	foreign := "good@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"by tag":          {[]string{reference}, exitDone, s.Lock},
		"by digest":       {[]string{s.Reference}, exitDone, s.Lock},
		"as it is locked": {[]string{reference, "--plugin-lock", s.Lock}, exitDone, s.Lock},
		"locked":          {[]string{reference, "--plugin-lock", foreign}, exitFailed, "plugins.lock"},
		"no lock":         {[]string{reference, "--plugin-lock", "good"}, exitWrongUse, "list --lock"},
		"no such tag":     {[]string{reference + "3"}, exitFailed, "not in the registry"},
		"no reference":    {[]string{"good"}, exitWrongUse, "REGISTRY/REPOSITORY"},
		"nothing":         {nil, exitWrongUse, "REFERENCE"},
	} {
		got := penstock(t, "", append([]string{"plugin", "pull", "--plugin-dir", to}, tc.args...)...)
		if got.code != tc.code || !strings.Contains(got.err, tc.says) {
			t.Errorf("%s: exit %d, %q, %s", name, got.code, got.out, got.err)
		}
		wasm, err := os.ReadFile(filepath.Join(to, "good.wasm"))
		if (err == nil) != (tc.code == exitDone) || err == nil && strings.TrimSpace(got.out) != filepath.Join(to, "good.wasm") {
			t.Errorf("%s: %d bytes, %v; %q", name, len(wasm), err, got.out)
		}
		_ = os.Remove(filepath.Join(to, "good.wasm")) // it need not be there
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
