// SPDX-License-Identifier: MIT

package compute

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

// Files that are not what their names say are removed, and a file is looked at once.
func TestCache_CheckNew(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tensors")
	c := &Cache{Folder: folder}
	if n, err := c.CheckNew(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("weights"))
	good := fmt.Sprintf("%016x", sum.Sum64())
	write := func(name, text string, age time.Duration) {
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		at := time.Now().Add(-age)
		must.Do(t, os.Chtimes(path, at, at))
	}
	write(good, "weights", 0)
	write("00000000000000aa", "weig", 0)            // cut short
	write("00000000000000bb", "checked", time.Hour) // it was looked at before
	write("notes.txt", "of the owner", 0)           // not ggml's
	if n, err := c.CheckNew(); n != 1 || err != nil {
		t.Errorf("%d files were removed (%v), want 1", n, err)
	}
	files := must.Get(os.ReadDir(folder))(t)
	var left []string
	for _, f := range files {
		left = append(left, f.Name())
	}
	want := map[string]bool{checkedMark: true, "00000000000000bb": true, good: true, "notes.txt": true}
	for _, name := range left {
		delete(want, name)
	}
	if len(left) != 4 || len(want) != 0 {
		t.Error(cmp.Diff([]string{checkedMark, "00000000000000bb", good, "notes.txt"}, left))
	}
}

func TestCache_CheckNew_None(t *testing.T) {
	if n, err := (&Cache{}).CheckNew(); n != 0 || err != nil {
		t.Error(n, err)
	}
}
