// SPDX-License-Identifier: MIT

package script

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// galleryScript is a script of the gallery with its example configuration, which its second line
// may have (web/src/scripts/gallery.ts).
func galleryScript(t testing.TB, file string) (source string, config any) {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // of our tree
	if err != nil {
		t.Fatal(err)
	}
	if _, rest, ok := strings.Cut(string(text), "\n// config: "); ok {
		line, _, _ := strings.Cut(rest, "\n")
		if err := json.Unmarshal([]byte(line), &config); err != nil {
			t.Fatalf("%s: its example: %v", file, err)
		}
	}
	return string(text), config
}

// The host takes each script of the gallery as it is.
func TestGallery_EachScript_IsPlanned(t *testing.T) {
	files, err := filepath.Glob("gallery/*.js")
	if err != nil || len(files) != 20 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source, config := galleryScript(t, file)
			if _, _, err := plan(t, source, config); err != nil {
				t.Error(said(err))
			}
			if lines := strings.Count(source, "\n"); lines > 14 {
				t.Errorf("%d lines; 12 and two comments are the most", lines)
			}
		})
	}
}
