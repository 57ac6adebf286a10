// SPDX-License-Identifier: MIT

package schedulertest

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// Machine is a Backend with processors beside it, in a bubble of testing/synctest: a pass takes its
// cost of the bubble's time, and so do draws and plugins, which share the processors.
type Machine struct {
	*Backend
	Draw      time.Duration // of a native chain
	Computing time.Duration // that passes have taken so far

	processors chan struct{}
}

// NewMachine makes one with some processors.
func NewMachine(b *Backend, processors int) *Machine {
	return &Machine{Backend: b, processors: make(chan struct{}, processors)}
}

// Now is the bubble's time.
func (m *Machine) Now() time.Time { return time.Now() }

// Wait implements scheduler.Backend.
func (m *Machine) Wait() error {
	before := m.Backend.Now()
	err := m.Backend.Wait()
	cost := m.Backend.Now().Sub(before)
	m.Computing += cost
	time.Sleep(cost)
	return err
}

// SampleRows implements scheduler.Backend: the processors draw beside each other.
func (m *Machine) SampleRows(draws []scheduler.Draw) {
	m.Backend.SampleRows(draws)
	rounds := (len(draws) + cap(m.processors) - 1) / cap(m.processors)
	time.Sleep(time.Duration(rounds) * m.Draw)
}

// Work takes a processor for some time.
func (m *Machine) Work(d time.Duration) {
	m.processors <- struct{}{}
	time.Sleep(d)
	<-m.processors
}

// Measured is the cost of a pass by its number of tokens, as llama.cpp had it for a 135M Llama on
// two cores with four generating sequences beside one that prefills (milliseconds, medians).
var Measured = Curve{{1, 6}, {4, 20.7}, {20, 55}, {36, 107}, {68, 199}, {132, 321}, {260, 606}, {516, 1000}, {2064, 4000}}

// Curve gives milliseconds at some token counts; between them it is linear.
type Curve [][2]float64

// Cost is the time of a pass of n tokens, whatever they attend to.
func (c Curve) Cost(n, _ int) time.Duration {
	x := float64(n)
	last := c[len(c)-1]
	ms := last[1] / last[0] * x
	for i := 1; i < len(c); i++ {
		if a, b := c[i-1], c[i]; x <= b[0] {
			ms = a[1] + (b[1]-a[1])*(x-a[0])/(b[0]-a[0])
			break
		}
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// Deep is the cost of a pass with flash attention on another machine, where what a token attends
// to matters: much in passes below 64 tokens, less above, which have another kernel.
func Deep(n, cells int) time.Duration {
	flat := Curve{{1, 7}, {4, 26}, {8, 32}, {20, 57}, {36, 88}, {64, 115}, {128, 222}, {512, 1080}}.Cost(n, 0)
	cell := 5.7 * float64(time.Microsecond)
	if n >= 64 {
		cell = 1.7 * float64(time.Microsecond)
	}
	return flat + time.Duration(cell*float64(cells))
}

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

// Events ranges over the events of an answer up to and including End, or until the context is done.
func Events(ctx context.Context, st *scheduler.Stream) iter.Seq[scheduler.Event] {
	return func(yield func(scheduler.Event) bool) {
		for {
			e, err := st.Next(ctx)
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// Nearest is a Backend that places a request next to a running one.
type Nearest struct{ *Backend }

// Place implements kvcache.Placer.
func (Nearest) Place(_ int, running []kvcache.RunningSequence, idle []kvcache.IdleSequence) int32 {
	distance := func(i kvcache.IdleSequence) int32 {
		nearest := slices.MinFunc(running, func(a, b kvcache.RunningSequence) int {
			return int(max(a.Sequence-i.Sequence, i.Sequence-a.Sequence) - max(b.Sequence-i.Sequence, i.Sequence-b.Sequence))
		}).Sequence
		return max(nearest-i.Sequence, i.Sequence-nearest)
	}
	return slices.MinFunc(idle, func(a, b kvcache.IdleSequence) int { return int(distance(a) - distance(b)) }).Sequence
}
