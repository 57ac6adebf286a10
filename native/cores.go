// SPDX-License-Identifier: MIT

package native

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// usable knows affinity and CPU quotas. It is asked before anybody has Go run more goroutines at once.
var usable = runtime.GOMAXPROCS(0)

// PhysicalCores is how many cores this process may use, hyper-threads counted once: decoding is bound by memory and
// arithmetic units, which the threads of one core share.
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

// weightsPerThread is how many bytes of weights a thread should have to read for a token, so that threads spend their
// time on them and not on waiting for each other.
const weightsPerThread = 16 << 20

// Threads is how many threads suit a model whose weights have so many bytes.
func Threads(weights uint64) int { return min(PhysicalCores(), 1+int(weights/weightsPerThread)) }
