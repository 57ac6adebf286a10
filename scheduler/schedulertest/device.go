// SPDX-License-Identifier: MIT

package schedulertest

import (
	"time"

	"github.com/penstock/penstock/scheduler"
)

// Device is what a pass costs where arithmetic is plenty and memory is slow, as on GPUs: weights
// are read once for all tokens of the pass, and meanwhile tokens are computed for nothing until
// arithmetic takes longer (the roofline model). The cells of a sequence are read once for all its
// tokens, and each token attends to each of them.
type Device struct {
	Launch  time.Duration // of the kernels of a pass
	Weights time.Duration // to read them
	Token   time.Duration // to compute one
	Read    time.Duration // of a cell
	Attend  time.Duration // a token to a cell
}

// Devices for models of Llama 3 in 16 bits, by the published figures of model and GPU: 8.0 and
// 70.6 billion parameters, 128 and 320 KiB for a cell; a memory of 3.35 TB/s used to 80%, 989
// TFLOP/s used to 45%. The larger model is on four GPUs, whose exchange makes a pass of 80 layers
// 3 ms longer.
var (
	H100With8B   = Device{time.Millisecond, 6000 * time.Microsecond, 36 * time.Microsecond, 49 * time.Nanosecond, 1 * time.Nanosecond}
	H100sWith70B = Device{4 * time.Millisecond, 13200 * time.Microsecond, 79 * time.Microsecond, 30 * time.Nanosecond, 2 * time.Nanosecond}
)

// Cost is the time of a pass over a batch.
func (d *Device) Cost(b *scheduler.Batch) time.Duration {
	cost := d.Launch + max(d.Weights, time.Duration(b.Len())*d.Token)
	for i, at := range b.Positions {
		cost += time.Duration(at) * d.Attend
		if i+1 == b.Len() || b.Sequences[i+1] != b.Sequences[i] { // the last of its sequence attends to all of it
			cost += time.Duration(at) * d.Read
		}
	}
	return cost
}
