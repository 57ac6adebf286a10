// SPDX-License-Identifier: MIT

package native

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// usable is how many CPUs affinity and quota leave to this process: Go's default, read before anyone can change it.
var usable = runtime.GOMAXPROCS(0)

// PhysicalCores is how many cores this process may use. The hyper-threads of a core count once: decoding is bound by memory and by
// arithmetic units, which they share.
var PhysicalCores = sync.OnceValue(func() int {
	siblings, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list")
	cores := map[string]bool{}
	for _, file := range siblings {
		if list, err := os.ReadFile(file); err == nil {
			cores[strings.TrimSpace(string(list))] = true
		}
	}
	if len(cores) == 0 || len(cores) > usable {
		return usable
	}
	return len(cores)
})

// weightsPerThread is how many bytes of weights there should be for each thread. With fewer, threads spend more time waiting for each other
// than computing.
const weightsPerThread = 16 << 20

// Threads is how many threads suit a model with so many bytes of weights.
func Threads(weights uint64) int { return min(PhysicalCores(), 1+int(weights/weightsPerThread)) }
