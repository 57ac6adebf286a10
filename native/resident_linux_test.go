// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// residentBytes is the memory this process has in RAM.
func residentBytes(t testing.TB) int {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
