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
	"github.com/penstock/penstock/tools/must"
)

// A file that went away once its model was loaded is no reason to serve no plugins.
func TestIdentityOf_FileThatWent(t *testing.T) {
	weights := must.Get(os.ReadFile(tinyModel))(t)
	path := filepath.Join(t.TempDir(), "model.gguf")
	must.Do(t, os.WriteFile(path, weights, 0o600))
	e := must.Get(engine.Open(t.Context(), engine.Options{Path: path, Slots: 1, ContextSize: 512, Threads: 1}))(t)
	t.Cleanup(func() { _ = e.Close() })
	must.Do(t, os.Remove(path))
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
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	c := must.Get(config.Load(config.Sources{Flags: map[string]any{"model.alias": []string{"tiny", "small"}, "plugins.dir": dir, "plugins.policy_file": policies}}))(t)
	p := must.Get(OpenPlugins(t.Context(), c, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(func() { _ = p.Close() })
	for name, want := range map[string]int{"tiny": 1, "other": 1, "else": 0} {
		if got := p.Policies(name, ""); len(got) != want {
			t.Errorf("%s has the policies %+v", name, got)
		}
	}
}
