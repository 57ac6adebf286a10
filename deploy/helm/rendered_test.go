// SPDX-License-Identifier: MIT

package helm

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the chart renders into testdata/rendered")

// What the chart renders is in testdata/rendered, with the sum of the files that it is made from.
// tests/deploy tries the program with it in `make test`, without Helm and Kubernetes, which take
// minutes to compile.
func TestChart_Rendered(t *testing.T) {
	stored := map[string]string{"sum": sum(t)}
	for _, name := range cases(t) {
		stored[name+".yaml"] = strings.Join(mustRender(t, name), "\n---\n")
	}
	for name, want := range stored {
		path := filepath.Join("testdata/rendered", name)
		if *update && !t.Failed() {
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what the chart renders (%v): `make test-chart ARGS=-update` writes it", path, err)
		}
	}
}

// sum is that of the chart and its values, which tests/deploy compares with.
func sum(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"penstock/*.*", "penstock/templates/*.*", "penstock/templates/*/*.*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	hash := sha256.New()
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(hash, "%s %x\n", path, sha256.Sum256(text))
	}
	return fmt.Sprintf("%x\n", hash.Sum(nil))
}
