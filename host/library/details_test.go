// SPDX-License-Identifier: MIT

package library

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

func TestProjectorOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		of    string
		want  string // empty: none
	}{
		{"none", []string{"a.gguf"}, "a.gguf", ""},
		{"its own", []string{"a.gguf", "b.gguf", "mmproj-a.gguf", "mmproj-b.gguf"}, "b.gguf", "mmproj-b.gguf"},
		{"another's", []string{"a.gguf", "b.gguf", "mmproj-a.gguf"}, "b.gguf", ""},
		{"any, of two models", []string{"a.gguf", "b.gguf", "mmproj-f16.gguf"}, "a.gguf", ""},
		{"any, of one in parts", []string{"a-00001-of-00002.gguf", "a-00002-of-00002.gguf", "mmproj-model-f16.gguf"}, "a-00001-of-00002.gguf", "mmproj-model-f16.gguf"},
		{"several", []string{"a.gguf", "mmproj-BF16.gguf", "mmproj-F16.gguf", "mmproj-F32.gguf", "notes.txt"}, "a.gguf", "mmproj-F16.gguf"},
		{"several of few bits", []string{"a.gguf", "mmproj-x-BF16.gguf", "mmproj-x-Q8_0.gguf"}, "a.gguf", "mmproj-x-Q8_0.gguf"},
		{"no model", []string{"a.gguf"}, "a.txt", ""},
	} {
		folder := t.TempDir()
		for _, f := range c.files {
			must.Do(t, os.WriteFile(filepath.Join(folder, f), nil, 0o600))
		}
		want := c.want
		if want != "" {
			want = filepath.Join(folder, want)
		}
		if got := ProjectorOf(filepath.Join(folder, c.of)); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
	if got := ProjectorOf(filepath.Join(t.TempDir(), "absent", "a.gguf")); got != "" {
		t.Error(got)
	}
}

// A projector is no model that can be served.
func TestStems_WithoutProjectors(t *testing.T) {
	folder := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(folder, "own"), 0o700))
	for _, f := range []string{"a.gguf", "mmproj-a.gguf", "own/mmproj-f16.gguf", "own/z.gguf"} {
		must.Do(t, os.WriteFile(filepath.Join(folder, f), nil, 0o600))
	}
	if got := Stems(folder); len(got) != 2 || got[0] != "a" || got[1] != "own" {
		t.Errorf("%v", got)
	}
}
