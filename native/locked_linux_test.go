// SPDX-License-Identifier: MIT

package native

import (
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
)

// lockedBytes is the memory of this process that stays in RAM.
func lockedBytes(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmLck:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatal("there is no VmLck in /proc/self/status")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// All weights stay in RAM, once, whether kernels lay them out anew or not, and none of it after
// the model: not even where the heap keeps the memory, as it does that of weights under 4 MiB.
func TestLoad_Locked(t *testing.T) {
	var limit syscall.Rlimit
	const memlock = 8 // RLIMIT_MEMLOCK
	if err := syscall.Getrlimit(memlock, &limit); err != nil || os.Geteuid() != 0 && limit.Cur < 64<<20 {
		t.Skipf("SKIPPED: this user may lock %d bytes of memory (error %v)", limit.Cur, err)
	}
	const ends = 64 << 10 // the pages at both ends of each piece of memory
	for _, shape := range []synth.Shape{
		{Name: "locked", Dim: 512, Layers: 6, Heads: 8, KVHeads: 8, FFN: 1536, Context: 2048},
		{Name: "locked in the heap", Dim: 256, Layers: 6, Heads: 4, KVHeads: 4, FFN: 768, Context: 2048},
	} {
		path := syntheticFile(t, shape, synth.Q40)
		for _, mode := range []string{"mlock", "mmap+mlock"} {
			for _, asInFile := range []bool{false, true} {
				before := lockedBytes(t)
				options := ModelOptions{LoadMode: mode, NoRepack: asInFile}
				m := loadedModel(t, path, options)
				size := int(m.Info().Size)
				if got := lockedBytes(t) - before; got < size-ends || got > size*3/2 {
					t.Errorf("%s, %s, as in the file: %t: %d bytes are locked; the weights have %d", shape.Name, mode, asInFile, got, size)
				}
				above := loadedModel(t, path, options) // so that the heap cannot give back the first one's memory
				closed(t, m)
				closed(t, above)
				if got := lockedBytes(t) - before; got > ends {
					t.Errorf("%s, %s, as in the file: %t: %d bytes stay locked", shape.Name, mode, asInFile, got)
				}
			}
		}
	}
}

func loadedModel(t *testing.T, path string, options ModelOptions) *Model {
	t.Helper()
	m, err := LoadModel(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func closed(t *testing.T, m *Model) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}
