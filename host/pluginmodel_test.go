// SPDX-License-Identifier: MIT

package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/engine"
)

// A recording tells its model apart from others, and knows it again after a restart.
func TestRecording_Model_IsKnownAgain(t *testing.T) {
	digest := func(file string) string {
		change := map[string]any{}
		if file != "" {
			change["model.path"] = filepath.Join(modelFolder(t), file)
		}
		h := openWithPlugins(t, change, map[string][]byte{"a.wasm": picking(5)})
		f := recorded(t, h, "/v1/completions", `{"prompt":"Once","max_tokens":2,"ignore_eos":true,"record":true,"plugins":["picking"]}`)
		if len(f.Model.Digest) != 64 {
			t.Errorf("%s: %+v", file, f.Model)
		}
		return f.Model.Digest
	}
	first := digest("")
	if again := digest(""); again != first {
		t.Errorf("the same model: %s, then %s", first, again)
	}
	if other := digest("window.gguf"); other == first {
		t.Error("two models have one digest")
	}
}

// A file that went away once its model was loaded is no reason to serve no plugins.
func TestIdentityOf_FileThatWent(t *testing.T) {
	weights, err := os.ReadFile("model/penstock-tiny.gguf")
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
