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

// All weights stay in RAM, once, whether kernels lay them out anew or not.
func TestLoad_Locked(t *testing.T) {
	path := syntheticFile(t, synth.Shape{Name: "locked", Dim: 512, Layers: 6, Heads: 8, KVHeads: 8, FFN: 1536, Context: 2048}, synth.Q40)
	var limit syscall.Rlimit
	const memlock = 8 // RLIMIT_MEMLOCK
	if err := syscall.Getrlimit(memlock, &limit); err != nil || os.Geteuid() != 0 && limit.Cur < 64<<20 {
		t.Skipf("SKIPPED: this user may lock %d bytes of memory (error %v)", limit.Cur, err)
	}
	const heap = 1 << 20 // llama.cpp frees small buffers before it unlocks them: the heap keeps those pages, and the next model may get them
	for _, mode := range []string{"mlock", "mmap+mlock"} {
		for _, asInFile := range []bool{false, true} {
			before := lockedBytes(t)
			m, err := LoadModel(t.Context(), path, ModelOptions{LoadMode: mode, NoRepack: asInFile})
			if err != nil {
				t.Fatal(err)
			}
			size := int(m.Info().Size)
			if got := lockedBytes(t) - before; got < size-heap || got > size*3/2 {
				t.Errorf("%s, as in the file: %t: %d bytes are locked; the weights have %d", mode, asInFile, got, size)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if got := lockedBytes(t) - before; got > heap {
				t.Errorf("%s: %d bytes stay locked", mode, got)
			}
		}
	}
}
