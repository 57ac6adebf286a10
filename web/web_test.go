// SPDX-License-Identifier: MIT

package web

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFS_Index_IsAPage(t *testing.T) {
	page, err := fs.ReadFile(FS(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "<title>Penstock") {
		t.Errorf("index.html has no title:\n%s", page)
	}
}

func TestFS_NotBuilt_SaysHowToBuild(t *testing.T) {
	page, err := fs.ReadFile(below(unbuilt, "unbuilt"), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "make build") {
		t.Errorf("the page does not name `make build`:\n%s", page)
	}
}

func TestHasIndex_Cases(t *testing.T) {
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  bool
	}{
		"built":     {fstest.MapFS{"index.html": {}, ".gitkeep": {}}, true},
		"not built": {fstest.MapFS{".gitkeep": {}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hasIndex(c.files); got != c.want {
				t.Errorf("hasIndex = %v, want %v", got, c.want)
			}
		})
	}
}
