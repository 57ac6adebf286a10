// SPDX-License-Identifier: MIT

package native

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// ownBytes is the memory that this process has written to, in RAM or swapped out. What else the
// machine does leaves it as it is.
func ownBytes(t testing.TB) int {
	t.Helper()
	debug.FreeOSMemory()
	return statusBytes(t, "RssAnon") + statusBytes(t, "VmSwap")
}

// fileBytes is how much of the files that this process maps is in RAM. The kernel may take it
// away, and no more comes than was read.
func fileBytes(t testing.TB) int {
	t.Helper()
	return statusBytes(t, "RssFile")
}

func statusBytes(t testing.TB, name string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(string(text), name+":")
	var kib int
	if _, err := fmt.Sscanf(line, "%d kB", &kib); err != nil || !found {
		t.Fatalf("%v: no %s in %s", err, name, text)
	}
	return kib << 10
}

// mappings counts how often this process maps a file.
func mappings(t testing.TB, path string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte("/"+filepath.Base(path)))
}
