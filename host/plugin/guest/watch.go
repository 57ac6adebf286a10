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

// Watcher learns of what passes between a session's guest and the host, so that it can be written
// down. Its methods are called within the call. What they are given is valid until they return.
type Watcher interface {
	// Calling comes before a call of an export, when the buffers hold what the guest is shown.
	Calling(e Export, a, b int32, buffers *Buffers)
	// Answered comes after it. A fault has Failed instead; one that the host finds in the answer
	// has both.
	Answered(e Export, answer int32, buffers *Buffers)
	Failed(f *plugin.Fault)
	// Did comes after a call of a host function that the ABI's table has recorded.
	Did(d *plugin.Deed)
}

// mostKept bounds what is kept of the deeds of a warm-up, in bytes.
const mostKept = 1 << 20

// deeds are what a module did when it was warmed. It is a Watcher of that alone.
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

// This file writes calls of host functions down, and gives a guest what was written down. What
// there is to write the ABI's table says.

// watched makes a call of which a watcher learns, or that a player answers.
func (f *function) watched(i *Instance, c *call) {
	d := &plugin.Deed{Import: f.Name, Args: f.args(c.stack)}
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
	wrong := caught(func() { f.marshal(i, c) })
	f.given(c, d)
	if wrong == nil {
		wrong = caught(func() { f.charge(i, c) })
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
		f.give(i, c, d)
		c.stack[0] = i32(d.Answer)
	default:
		c.stack[0] = f.run(i, c)
		d.Answer, d.Added, d.Err = int32(uint32(c.stack[0])), i.fuelLimit-limit, c.err
		d.Fuel = left - i.meter.Left() + d.Added
		f.gave(i, c, d)
	}
}

// caught is what a function panicked with; nil: it did not.
func caught(f func()) (why any) {
	defer func() { why = recover() }()
	f()
	return nil
}

// args are the parameters but for addresses.
func (f *function) args(stack []uint64) []int32 {
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

// given notes what the guest gave. What does not lie in memory is nothing: the call will fail.
func (f *function) given(c *call, d *plugin.Deed) {
	for k := range f.Memory {
		b := c.in[k]
		switch list := f.Memory[k].List; {
		case f.Memory[k].Access == abi.Write:
		case list == abi.ListTokens, list == abi.ListHandles:
			d.Tokens = tokensIn(b)
		case list == abi.ListNumbers:
			d.Numbers = numbersIn(b)
		case list == abi.ListBytes:
			d.Text = string(b)
		case list == abi.ListWords:
			sum := sha256.Sum256(b)
			d.Digest = hex.EncodeToString(sum[:])
		case list == abi.ListPairs:
			for ; len(b) >= 8; b = b[8:] {
				d.Tokens, d.Numbers = append(d.Tokens, tokensIn(b[:4])...), append(d.Numbers, numbersIn(b[4:8])...)
			}
		}
	}
}

// gave notes what the guest got.
func (f *function) gave(i *Instance, c *call, d *plugin.Deed) {
	if f.Fills == abi.BufferMask && d.Answer != -1 {
		d.Gave.Mask = i.Buffers.Mask(i.module.Env.Vocabulary.Size())
	}
	for k := range f.Memory {
		switch m := &f.Memory[k]; {
		case m.Access == abi.Update:
			d.Gave.Tokens = tokensIn(c.in[k])
		case m.Access != abi.Write, len(c.whole) > len(c.out) && f.Record != abi.RecordWhole:
		case m.List == abi.ListTokens:
			d.Gave.Tokens = tokensIn(c.whole)
		case m.List == abi.ListNumbers:
			d.Gave.Numbers = numbersIn(c.whole)
		case m.List == abi.ListBytes:
			d.Gave.Text = string(c.whole)
		case m.List == abi.ListCandidates:
			n, room := 4*int(max(0, d.Answer)), (len(c.out)-8)/2
			d.Gave.Tokens = tokensIn(c.out[8 : 8+n])
			d.Gave.Numbers = append(numbersIn(c.out[:8]), numbersIn(c.out[8+room:8+room+n])...)
		}
	}
}

// give writes what the guest gets, as far as there is room for it, and does what a wait does
// besides.
func (f *function) give(i *Instance, c *call, d *plugin.Deed) {
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
			c.give(bytesOf(g.Tokens))
		case m.List == abi.ListNumbers:
			c.give(bytesOf(g.Numbers))
		case m.List == abi.ListBytes:
			c.give([]byte(g.Text))
		case m.List == abi.ListCandidates:
			n, room := min(2, len(g.Numbers)), (len(c.out)-8)/2
			copy(c.out[:8], bytesOf(g.Numbers[:n]))
			copy(c.out[8:8+room], bytesOf(g.Tokens))
			copy(c.out[8+room:], bytesOf(g.Numbers[n:]))
		}
	}
	if f.Name == abi.ImportBranchesWait {
		i.afterWait(d)
	}
}

// give writes what fits.
func (c *call) give(data []byte) {
	if len(data) <= len(c.out) {
		copy(c.out, data)
	}
}

// afterWait is what a wait changes besides.
func (i *Instance) afterWait(d *plugin.Deed) {
	p := i.branches
	p.waits++
	i.session.random.moveTo(1<<32 + p.waits)
	i.fuelLimit += i.meter.Refuel(d.Added, math.MaxInt64)
	i.beginStretch()
}

func tokensIn(b []byte) []int32 { return copied[int32](b) }

func numbersIn(b []byte) []float32 { return copied[float32](b) }

// copied are the numbers that lie in memory; nil: none.
func copied[T int32 | float32](b []byte) []T {
	if len(b) < 4 {
		return nil
	}
	list := make([]T, len(b)/4)
	copy(bytesOf(list), b)
	return list
}
