// SPDX-License-Identifier: MIT

package plugins

import (
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// A recording tells its model apart from others, and knows it again after a restart.
func TestRecording_Model_IsKnownAgain(t *testing.T) {
	digest := func(file string) string {
		change := map[string]any{}
		if file != "" {
			change["model.path"] = filepath.Join(hosts.ModelFolder(t), file)
		}
		h := hosts.OpenWithPlugins(t, change, map[string][]byte{"a.wasm": picking(5)})
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
