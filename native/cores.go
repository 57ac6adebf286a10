// SPDX-License-Identifier: MIT

package native

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/penstock/penstock/native/cgroup"
)

// usable is how many CPUs affinity leaves to this process: Go's default, read before anyone can
// change it.
var usable = runtime.GOMAXPROCS(0)

// PhysicalCores is how many cores this process may use. The hyper-threads of a core count once:
// decoding is bound by memory and by arithmetic units, which they share. Where its control groups
// allow less processor time, such as that of 1.5 processors, it is as many as can compute all the
// time.
func PhysicalCores() int { return within(coresUsable(), cgroup.Processors()) }

// within is how many of the cores can be busy all the time, of so much processor time.
func within(cores int, processors float64) int {
	return max(1, int(min(float64(cores), processors)))
}

var coresUsable = sync.OnceValue(func() int {
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

// weightsPerThread is how many bytes of weights there should be for each thread. With fewer,
// threads spend more time waiting for each other than computing.
const weightsPerThread = 16 << 20

// Threads is how many threads suit a model with so many bytes of weights.
func Threads(weights uint64) int { return min(PhysicalCores(), 1+int(weights/weightsPerThread)) }
