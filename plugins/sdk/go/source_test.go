// SPDX-License-Identifier: MIT

package sdk_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/penstock/penstock/plugins/sdk/go"
)

// TestFiles_AreTheFolders wants every package of the SDK, and of the checkout nothing that a
// plugin does not need.
func TestFiles_AreTheFolders(t *testing.T) {
	left := maps.Collect(sdk.Files())
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || name == "source.go" {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got, ok := left[name]; !ok || !bytes.Equal(got, want) {
			t.Errorf("%s is missing, or another: name its folder in source.go", name)
		}
		delete(left, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range left {
		t.Errorf("%s is no file of the folder", name)
	}
}

func TestFiles_Stops(t *testing.T) {
	n := 0
	for range sdk.Files() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}
