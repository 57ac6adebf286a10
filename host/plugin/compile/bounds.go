// SPDX-License-Identifier: MIT

package compile

import (
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/penstock/penstock/host/plugin"
)

// lookEvery is how often a child looks at what it has used. In that time it can take some 20 MiB
// more.
const lookEvery = 10 * time.Millisecond

// bounds are what a child may use.
type bounds struct {
	Time   time.Duration `json:"time"`   // of all processors: a busy machine makes no module larger
	Memory uint64        `json:"memory"` // bytes that Go has of the system
}

// keep has refuse called, in a goroutine of its own and for as long as the process lasts, with the
// first of the bounds that is exceeded from now on. The compiler cannot be stopped, but the
// process can.
func (b bounds) keep(refuse func(error)) {
	begin := processorTime()
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	go func() {
		for range time.Tick(lookEvery) {
			metrics.Read(memory)
			switch {
			case processorTime()-begin > b.Time:
				refuse(fmt.Errorf("%w: compiling takes more than %v of processor time; make the module smaller", plugin.ErrLimit, b.Time))
				return
			case memory[0].Value.Uint64()-memory[1].Value.Uint64() > b.Memory:
				refuse(fmt.Errorf("%w: compiling takes more than %d MiB of memory; make the module smaller, or its largest functions", plugin.ErrLimit, b.Memory>>20))
				return
			}
		}
	}()
}
