// SPDX-License-Identifier: MIT

package loading

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
