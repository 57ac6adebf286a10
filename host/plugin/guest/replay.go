// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"math"
)

// Replay answers what a program does in the place of the host: it fills in what came of a deed,
// its answer, what it gave and its fuel. An error, which is a *Violation, ends the run.
type Replay func(*Deed) error

// ReplayProgram is RunProgram where a player answers. The session has a watcher.
func (i *Instance) ReplayProgram(answer Replay) error {
	return i.runProgram(&branches{replay: answer})
}

// replay has the player answer, and does to the guest what the host has done.
func (sh shape) replay(i *Instance, s []uint64, d *Deed) {
	if err := i.branches.replay(d); err != nil {
		panic(err)
	}
	i.charge(uint64(max(0, d.Fuel)))
	sh.give(i, s, d)
	if sh.out.kind == listSame {
		i.afterWait(d)
	}
}

// afterWait is what a wait changes besides.
func (i *Instance) afterWait(d *Deed) {
	p := i.branches
	p.waits++
	i.session.random.moveTo(1<<32 + p.waits)
	i.fuelLimit += i.meter.Refuel(d.Added, math.MaxInt64)
	i.beginStretch()
}

// give writes what the guest gets.
func (sh shape) give(i *Instance, s []uint64, d *Deed) {
	p := sh.out
	if p.kind == noList {
		return
	}
	room, at := uint64(uint32(s[p.n])), uint64(uint32(s[p.at]))
	switch g := &d.Gave; p.kind {
	case listTokens, listSame:
		putTokens(i.bytesAt(at, 4*uint64(len(g.Tokens))), g.Tokens)
	case listNumbers:
		putNumbers(i.bytesAt(at, 4*uint64(len(g.Numbers))), g.Numbers)
	case listText:
		copy(i.bytesAt(at, uint64(len(g.Text))), g.Text)
	case listCandidates:
		b := i.bytesAt(at, p.size(max(room, uint64(len(g.Tokens)))))
		n := min(2, len(g.Numbers))
		putNumbers(b, g.Numbers[:n])
		putTokens(b[8:], g.Tokens)
		logits := g.Numbers[n:]
		putNumbers(b[8+4*room:], logits[:min(len(logits), len(b[8+4*room:])/4)])
	}
}

func putTokens(to []byte, list []int32) {
	for k, t := range list {
		binary.LittleEndian.PutUint32(to[4*k:], uint32(t))
	}
}

func putNumbers(to []byte, list []float32) {
	for k, x := range list {
		binary.LittleEndian.PutUint32(to[4*k:], math.Float32bits(x))
	}
}
