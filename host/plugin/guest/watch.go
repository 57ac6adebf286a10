// SPDX-License-Identifier: MIT

package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// Watcher is told what passes between a session's guest and the host, to record it. Its methods are
// called within the call. Their arguments are valid until they return.
type Watcher interface {
	// Calling comes before a call of an export, when the buffers hold what the guest is shown.
	Calling(e Export, a, b int32, buffers *Buffers)
	// Answered comes after it. A fault has Failed instead; one that the host finds in the answer
	// has both.
	Answered(e Export, answer int32, buffers *Buffers)
	Failed(f *plugin.Fault)
	// Did comes after a call of a host function that the ABI's table marks as recorded.
	Did(d *plugin.Deed)
}

// mostKept bounds the recorded deeds of a warm-up, in bytes.
const mostKept = 1 << 20

// deeds is a Watcher that keeps the host calls of a module's warm-up or plan.
type deeds struct {
	list  []plugin.Deed
	bytes int
}

func (*deeds) Calling(Export, int32, int32, *Buffers) {}
func (*deeds) Answered(Export, int32, *Buffers)       {}
func (*deeds) Failed(*plugin.Fault)                   {}

func (k *deeds) Did(d *plugin.Deed) {
	if k.bytes += len(d.Text) + len(d.Gave.Text) + 4*len(d.Gave.Tokens) + 64; k.bytes <= mostKept {
		kept := *d
		kept.Gave.Mask = slices.Clone(d.Gave.Mask)
		k.list = append(k.list, kept)
	}
}

// callWatched makes a call that a watcher records, or that a player answers from a recording. The
// ABI's table says which memory the call reads and writes.
func (f *function) callWatched(i *Instance, c *call) {
	d := &plugin.Deed{Import: f.Name, Args: f.plainArgs(c.stack)}
	left, limit := i.meter.Left(), i.fuelLimit
	defer func() {
		failed := recover()
		d.Failed = failed != nil
		if w := i.session.Watcher; w != nil && !c.unseen {
			w.Did(d)
		}
		if d.Failed {
			panic(failed)
		}
	}()
	wrong := catchPanic(func() { f.marshal(i, c) })
	f.recordInput(c, d)
	if wrong == nil {
		wrong = catchPanic(func() { f.charge(i, c) })
	}
	answered := false
	if replay := i.module.Env.Replay; replay != nil {
		var err error
		if answered, err = replay(d); err != nil {
			panic(err)
		}
	}
	switch {
	case wrong != nil:
		panic(wrong)
	case answered:
		i.charge(uint64(max(0, d.Fuel-(left-i.meter.Left()))))
		f.replayOutput(i, c, d)
		c.stack[0] = i32(d.Answer)
	default:
		c.stack[0] = f.run(i, c)
		d.Answer, d.Added, d.Err = int32(uint32(c.stack[0])), i.fuelLimit-limit, c.err
		d.Fuel = left - i.meter.Left() + d.Added
		f.recordOutput(i, c, d)
	}
}

// catchPanic runs a function and returns its panic; nil: there was none.
func catchPanic(f func()) (why any) {
	defer func() { why = recover() }()
	f()
	return nil
}

// plainArgs returns the parameters except addresses.
func (f *function) plainArgs(stack []uint64) []int32 {
	var list []int32
	for k := range f.Params {
		if !f.isAddress(k) {
			list = append(list, int32(uint32(stack[k])))
		}
	}
	return list
}

func (f *function) isAddress(param int) bool {
	for k := range f.Memory {
		if f.Memory[k].At == param {
			return true
		}
	}
	return false
}

// recordInput records what the guest gave. An argument outside of memory counts as empty: the call
// will fail.
func (f *function) recordInput(c *call, d *plugin.Deed) {
	for k := range f.Memory {
		b := c.in[k]
		switch list := f.Memory[k].List; {
		case f.Memory[k].Access == abi.Write:
		case list == abi.ListTokens, list == abi.ListHandles:
			d.Tokens = readTokens(b)
		case list == abi.ListNumbers:
			d.Numbers = readNumbers(b)
		case list == abi.ListBytes:
			d.Text = string(b)
		case list == abi.ListWords:
			sum := sha256.Sum256(b)
			d.Digest = hex.EncodeToString(sum[:])
		case list == abi.ListPairs:
			for ; len(b) >= 8; b = b[8:] {
				d.Tokens, d.Numbers = append(d.Tokens, readTokens(b[:4])...), append(d.Numbers, readNumbers(b[4:8])...)
			}
		}
	}
}

// recordOutput records what the guest got.
func (f *function) recordOutput(i *Instance, c *call, d *plugin.Deed) {
	if f.Fills == abi.BufferMask && d.Answer != -1 {
		d.Gave.Mask = i.Buffers.Mask(i.module.Env.Vocabulary.Size())
	}
	for k := range f.Memory {
		switch m := &f.Memory[k]; {
		case m.Access == abi.Update:
			d.Gave.Tokens = readTokens(c.in[k])
		case m.Access != abi.Write, len(c.whole) > len(c.out) && f.Record != abi.RecordWhole:
		case m.List == abi.ListTokens:
			d.Gave.Tokens = readTokens(c.whole)
		case m.List == abi.ListNumbers:
			d.Gave.Numbers = readNumbers(c.whole)
		case m.List == abi.ListBytes:
			d.Gave.Text = string(c.whole)
		case m.List == abi.ListCandidates:
			n, room := 4*int(max(0, d.Answer)), (len(c.out)-8)/2
			d.Gave.Tokens = readTokens(c.out[8 : 8+n])
			d.Gave.Numbers = append(readNumbers(c.out[:8]), readNumbers(c.out[8+room:8+room+n])...)
		}
	}
}

// replayOutput writes what the guest got when it was recorded, as far as there is room for it, and
// repeats the side effects of a wait.
func (f *function) replayOutput(i *Instance, c *call, d *plugin.Deed) {
	g := &d.Gave
	if f.Fills == abi.BufferMask && len(g.Mask) > 0 && i.Buffers.Bound(abi.BufferMask) {
		copy(i.Buffers.Mask(i.module.Env.Vocabulary.Size()), g.Mask)
	}
	for k := range f.Memory {
		switch m := &f.Memory[k]; {
		case m.Access == abi.Update:
			copy(c.in[k], bytesOf(g.Tokens))
		case m.Access != abi.Write:
		case m.List == abi.ListTokens:
			c.writeIfFits(bytesOf(g.Tokens))
		case m.List == abi.ListNumbers:
			c.writeIfFits(bytesOf(g.Numbers))
		case m.List == abi.ListBytes:
			c.writeIfFits([]byte(g.Text))
		case m.List == abi.ListCandidates:
			n, room := min(2, len(g.Numbers)), (len(c.out)-8)/2
			copy(c.out[:8], bytesOf(g.Numbers[:n]))
			copy(c.out[8:8+room], bytesOf(g.Tokens))
			copy(c.out[8+room:], bytesOf(g.Numbers[n:]))
		}
	}
	if f.Name == abi.ImportBranchesWait {
		i.replayWait(d)
	}
}

// writeIfFits writes data into the call's output, if there is room for all of it.
func (c *call) writeIfFits(data []byte) {
	if len(data) <= len(c.out) {
		copy(c.out, data)
	}
}

// replayWait repeats the side effects of a wait: random numbers move on, fuel is added and the
// clock starts anew.
func (i *Instance) replayWait(d *plugin.Deed) {
	p := i.branches
	p.waits++
	i.session.random.moveTo(1<<32 + p.waits)
	i.fuelLimit += i.meter.Refuel(d.Added, math.MaxInt64)
	i.restartClock()
}

func readTokens(b []byte) []int32 { return copyNumbers[int32](b) }

func readNumbers(b []byte) []float32 { return copyNumbers[float32](b) }

// copyNumbers copies numbers out of guest memory; nil: there are none.
func copyNumbers[T int32 | float32](b []byte) []T {
	if len(b) < 4 {
		return nil
	}
	list := make([]T, len(b)/4)
	copy(bytesOf(list), b)
	return list
}
