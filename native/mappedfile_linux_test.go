// SPDX-License-Identifier: MIT

package native

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
)

// residentPages is how many bytes of a file this process has mapped and in RAM.
func residentPages(t *testing.T, path string) (n int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	of := false
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		if line := lines.Text(); strings.Contains(line[:min(20, len(line))], "-") {
			of = strings.HasSuffix(line, "/"+filepath.Base(path))
		} else if size, found := strings.CutPrefix(line, "Rss:"); found && of {
			var kib int
			if _, err := fmt.Sscanf(size, "%d kB", &kib); err != nil {
				t.Fatal(err)
			}
			n += kib << 10
		}
	}
	return n
}

// Of the file's pages only those stay whose weights are used as they are in it: not the ones that
// were laid out anew.
func TestLoad_GivesBackPages(t *testing.T) {
	useOnly(t, PenstockKernels)
	shape := tiedShape
	shape.Dim, shape.FFN, shape.Layers = 512, 1536, 6
	tied := syntheticFile(t, shape, synth.Q80)
	for _, c := range []struct {
		name, path  string
		asInFile    bool
		least, most float64 // of the weights
	}{{"tied", tied, false, 0, 0.1}, {"untied", untied(t, tied), false, 0, 0.5}, {"as in the file", tied, true, 0.5, 1.1}} {
		t.Run(c.name, func(t *testing.T) {
			m := load(t, c.path, ModelOptions{NoRepack: c.asInFile})
			logitsOf(t, m, ContextOptions{Cells: 1024, Sequences: 3, Rows: 256, Threads: 2}) // brings back what is read
			got, size := residentPages(t, c.path), float64(m.Info().Size)
			t.Logf("%d KiB of the file are in RAM, and it has %.0f KiB of weights", got>>10, size/1024)
			if share := float64(got) / size; share < c.least || share > c.most {
				t.Errorf("%d bytes of the file are in RAM, %.2f of the weights; want %.1f to %.1f", got, share, c.least, c.most)
			}
		})
	}
}
