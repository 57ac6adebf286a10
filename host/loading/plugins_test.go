// SPDX-License-Identifier: MIT

package loading

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
)

// A file that went away once its model was loaded is no reason to serve no plugins.
func TestIdentityOf_FileThatWent(t *testing.T) {
	weights, err := os.ReadFile(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), engine.Options{Path: path, Slots: 1, ContextSize: 512, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	m := identityOf(e, slog.New(slog.NewTextHandler(&said, nil)))
	if m.Digest != "" || m.VocabularySize == 0 || !strings.Contains(said.String(), path) {
		t.Errorf("%+v; %s", m, said.String())
	}
}

// Without a server a policy may call the model by any of its names, too.
func TestOpenPlugins_PolicyForAnAlias(t *testing.T) {
	dir := t.TempDir()
	policies := filepath.Join(dir, "policies.yaml")
	for path, text := range map[string]string{
		filepath.Join(dir, "guard.js"): "export function sample() {}",
		policies:                       "policies: [{plugin: guard, models: [small, other]}]",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Sources{Flags: map[string]any{"model.alias": []string{"tiny", "small"}, "plugins.dir": dir, "plugins.policy_file": policies}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := OpenPlugins(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	for name, want := range map[string]int{"tiny": 1, "other": 1, "else": 0} {
		if got := p.Policies(name, ""); len(got) != want {
			t.Errorf("%s has the policies %+v", name, got)
		}
	}
}
