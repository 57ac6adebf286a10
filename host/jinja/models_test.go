// SPDX-License-Identifier: MIT

package jinja

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// templatesFolder is that of llama.cpp's source with the templates of models.
func templatesFolder(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates")
	if err != nil || len(found) != 1 {
		t.Fatal("llama.cpp's source is not there: make build", found, err)
	}
	return found[0]
}

// The templates of 70 models make of conversations of all kinds, byte for byte, what they do in
// Python.
func TestRender_Models(t *testing.T) {
	var want map[string][]string
	readJSON(t, "templates.json", &want)
	var contexts []json.RawMessage
	readJSON(t, "conversations.json", &contexts)
	folder := templatesFolder(t)
	if len(want) < 60 {
		t.Fatal(len(want), "templates")
	}
	for file, answers := range want {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			source := must.Get(os.ReadFile(filepath.Join(folder, file)))(t)
			for i, w := range answers {
				got, err := rendered(t, string(source), told(t, contexts[i]))
				sum := sha256.Sum256([]byte(got))
				switch reason, fails := strings.CutPrefix(w, "!"); {
				case fails != (err != nil):
					t.Errorf("conversation %d: %v, want an error: %q", i, err, reason)
				case !fails && hex.EncodeToString(sum[:])[:12] != w:
					t.Errorf("conversation %d: another text: %q", i, got)
				case fails && os.Getenv("WORDS") != "" && !strings.HasSuffix(err.Error(), reason):
					t.Logf("conversation %d: %v, want %s", i, err, reason)
				}
			}
		})
	}
}
