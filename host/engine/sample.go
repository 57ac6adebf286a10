// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/panics"
)

// parallelLogits is how many logits a tick must have to sample before more goroutines pay for
// themselves.
const parallelLogits = 1 << 14

// banned is the logit of a token that is never drawn.
var banned = float32(math.Inf(-1))

// SampleRows implements scheduler.Backend.
func (b *backend) SampleRows(draws []scheduler.Draw) {
	goroutines := min(len(draws), runtime.GOMAXPROCS(0))
	if len(draws)*b.limits.Vocabulary < parallelLogits {
		goroutines = 1
	}
	if goroutines <= 1 {
		for i := range draws {
			b.sample(&draws[i])
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(draws)); i = next.Add(1) - 1 {
			b.sample(&draws[i])
		}
	}
	for range goroutines - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// sample draws one row. It may run on a goroutine of its own, whose panic nobody else could catch.
func (b *backend) sample(d *scheduler.Draw) {
	defer func() {
		if err := panics.Recovered(recover()); err != nil {
			d.Token, d.Err = -1, err
		}
	}()
	stage, ok := d.Stage.(*Stage)
	if !ok {
		d.Token, d.Err = -1, fmt.Errorf("sample row %d: a stage of type %T is not this engine's", d.Row, d.Stage)
		return
	}
	d.Token, d.Err = stage.sampleSoon(b.Row(d.Row))
}
