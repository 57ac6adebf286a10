// SPDX-License-Identifier: MIT

package native

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// hugeBytes is the memory for which this process has asked for huge pages.
func hugeBytes(t *testing.T) (all int) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var kib int
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Size:") {
			if _, err := fmt.Sscanf(lines.Text(), "Size: %d kB", &kib); err != nil {
				t.Fatal(err)
			}
		}
		if strings.HasPrefix(lines.Text(), "VmFlags:") && strings.Contains(lines.Text()+" ", " hg ") {
			all += kib << 10
		}
	}
	return all
}

// Keys and values lie in huge pages where the system has them, also those of window layers.
func TestContext_HugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	for _, path := range []string{builtIn, small(t, "cohere2")} {
		m := load(t, path, ModelOptions{})
		before := hugeBytes(t)
		c := newContext(t, m, ContextOptions{Cells: 1 << 15, Sequences: 1, Threads: 1, FlashAttention: "on"})
		memory, err := c.Memory()
		if err != nil {
			t.Fatal(err)
		}
		cells := int(memory[0].Cells)
		if got := hugeBytes(t) - before; got < cells-3*2<<20 || cells < 4<<20 {
			t.Errorf("%s: huge pages for %d bytes of %d", path, got, cells)
		}
		var b Batch
		b.Add(1, 0, 0, true)
		decode(t, c, &b)
	}
}
