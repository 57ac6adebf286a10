// SPDX-License-Identifier: MIT

package host

import (
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
)

// smallModel writes a small random model of a kind and returns its path.
func smallModel(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind+".gguf")
	if err := synth.SmallFile(path, kind, 1); err != nil {
		t.Fatal(err)
	}
	return path
}
