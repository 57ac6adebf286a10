// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// This file has the host functions of programs. See docs/abi/v1.md.

// What they cost besides the bytes that they read and write.
const (
	branchFuel    = 1000
	waitFuel      = 20_000 // two changes of goroutines, and a tick
	candidateFuel = 16
)

// tokensAt reads n tokens of guest memory. Rows of pictures and sounds have tokens below 0, which
// are the scheduler's own: no guest names them.
func (i *Instance) tokensAt(ptr, n uint64) []int32 {
	bytes := i.readUnits(ptr, n, 4)
	tokens := make([]int32, len(bytes)/4)
	for k := range tokens {
		t := binary.LittleEndian.Uint32(bytes[4*k:])
		if !i.known(uint64(t)) {
			panic(Violationf(plugin.CauseCall, "token %d is not in the vocabulary of %d", t, i.module.Env.Vocabulary.Size()))
		}
		tokens[k] = int32(t)
	}
	return tokens
}

// write32 writes numbers of 32 bits.
func write32[T int32 | uint32 | float32](i *Instance, s []uint64, ptr, limit uint64, numbers []T) {
	i.write(s, ptr, limit, 4, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 4*len(numbers)))
}

func hostBranchOpen(i *Instance, s []uint64) {
	i.charge(branchFuel)
	p := i.program()
	tokens := p.run.Prompt()
	if uint32(s[1]) > 0 {
		tokens = i.tokensAt(s[0], s[1])
	}
	if !p.mayOpen() {
		s[0] = i32(abi.BranchNoneFree)
		return
	}
	s[0] = i.keep(p.run.Open(tokens))
}

func hostBranchFork(i *Instance, s []uint64) {
	i.charge(branchFuel)
	b := i.branch(s[0])
	if !i.branches.mayOpen() {
		s[0] = i32(abi.BranchNoneFree)
		return
	}
	i.chargeBytes(4 * len(b.Tokens()))
	s[0] = i.keep(b.Fork())
}

func hostBranchClose(i *Instance, s []uint64) {
	i.branch(s[0]).Close()
	delete(i.branches.open, uint32(s[0]))
	s[0] = 0
}

func hostBranchCut(i *Instance, s []uint64) {
	i.do(i.branch(s[0]).Cut(int(uint32(s[1]))))
	s[0] = 0
}

func hostBranchAppend(i *Instance, s []uint64) {
	b, tokens := i.branch(s[0]), i.tokensAt(s[1], s[2])
	if flags := uint32(s[3]); flags&^abi.AppendScored != 0 {
		panic(Violationf(plugin.CauseCall, "%s with the flags %#x", abi.ImportBranchAppend, flags))
	}
	if _, follows := b.Follows(); follows {
		i.charge(acceptFuel * uint64(len(tokens)))
	}
	if err := b.Append(tokens, uint32(s[3])&abi.AppendScored != 0); err != nil {
		s[0] = i.answerFor(err)
		return
	}
	s[0] = i32(int32(len(b.Tokens())))
}

func hostBranchTokens(i *Instance, s []uint64) {
	b := i.branch(s[0])
	if b.State() == program.Running {
		panic(Violationf(plugin.CauseCall, "the branch goes on by itself; wait for it"))
	}
	tokens := b.Tokens()
	write32(i, s, s[2], s[3], plugin.SeenTokens(tokens[beginning(s[1], len(tokens)):]))
}

func hostBranchesWait(i *Instance, s []uint64) {
	i.charge(waitFuel)
	p, n, k, flags := i.program(), uint32(s[1]), uint32(s[2]), uint32(s[3])
	if n > uint32(p.run.Branches()) || k > mostCandidates || flags&^abi.WaitAny != 0 {
		panic(Violationf(plugin.CauseCall, "%s for %d branches, %d candidates and the flags %#x", abi.ImportBranchesWait, n, k, flags))
	}
	at := i.readUnits(s[0], s[1], 4)
	p.list, p.handle = p.list[:0], p.handle[:0]
	for j := range int(n) {
		handle := binary.LittleEndian.Uint32(at[4*j:])
		p.list, p.handle = append(p.list, i.branch(uint64(handle))), append(p.handle, handle)
	}
	k = min(k, uint32(i.module.Env.Vocabulary.Size()))
	i.chargeSummaries(int(k), p.list)
	ready, err := i.wait(int(k), flags&abi.WaitAny != 0, p.list)
	if err != nil {
		s[0] = i.answerFor(err)
		return
	}
	for _, b := range ready {
		if _, follows := b.Follows(); follows {
			i.charge(maskFuel * uint64(i.module.Env.Vocabulary.Size()))
		}
	}
	slices.SortStableFunc(p.handle, func(a, b uint32) int { return rank(ready, p.open[b]) - rank(ready, p.open[a]) })
	at = i.bytesAt(uint64(uint32(s[0])), 4*uint64(n))
	for j, handle := range p.handle {
		binary.LittleEndian.PutUint32(at[4*j:], handle)
	}
	s[0] = i32(int32(len(ready)))
}

// chargeSummaries pays for finding k candidates in rows that are there and of which fewer were
// found.
func (i *Instance) chargeSummaries(k int, branches []*program.Branch) {
	for _, b := range branches {
		if b.Ready() && !b.Knows(k) {
			i.charge(uint64(i.module.Env.Vocabulary.Size()))
		}
	}
}

// rank is 1 for a branch that is ready, and 0 for another.
func rank(ready []*program.Branch, b *program.Branch) int {
	if slices.Contains(ready, b) {
		return 1
	}
	return 0
}

func hostBranchCandidates(i *Instance, s []uint64) {
	b, k := i.branch(s[0]), uint32(s[1])
	if k > mostCandidates {
		panic(Violationf(plugin.CauseCall, "%d candidates; %d are the most", k, mostCandidates))
	}
	i.charge(candidateFuel * uint64(k))
	most := min(int(k), i.module.Env.Vocabulary.Size())
	i.chargeSummaries(most, []*program.Branch{b})
	said, err := b.Best(most)
	i.do(err)
	to := i.bytesAt(uint64(uint32(s[2])), 8+8*uint64(k))
	put := func(at int, x float32) { binary.LittleEndian.PutUint32(to[at:], math.Float32bits(x)) }
	put(0, said.LogSum)
	put(4, said.Entropy)
	for j, id := range said.IDs {
		binary.LittleEndian.PutUint32(to[8+4*j:], uint32(id))
		put(8+4*int(k)+4*j, said.Logits[j])
	}
	s[0] = i32(int32(len(said.IDs)))
}

func hostBranchLogits(i *Instance, s []uint64) {
	row := make([]float32, i.module.Env.Vocabulary.Size())
	i.charge(uint64(len(row)) / 4)
	b := i.branch(s[0])
	_, err := b.Logits(row)
	i.do(err)
	write32(i, s, s[1], s[2], row)
}

func hostBranchScores(i *Instance, s []uint64) {
	b := i.branch(s[0])
	i.chargeBytes(4 * len(b.Tokens()))
	scores, err := b.Scores(int(uint32(s[1])))
	i.do(err)
	write32(i, s, s[2], s[3], scores)
}

func hostShow(i *Instance, s []uint64) {
	p, n := i.program(), uint32(s[3])
	tokens := i.tokensAt(s[1], s[3])
	var logs []float32
	if uint32(s[2]) != 0 && n > 0 {
		bytes := i.readUnits(s[2], s[3], 4)
		logs = make([]float32, n)
		for k := range logs {
			if logs[k] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*k:])); !(logs[k] <= 0) {
				panic(Violationf(plugin.CauseCall, "token %d is shown with the log-probability %v", tokens[k], logs[k]))
			}
		}
	}
	ended, err := p.run.Show(int(int32(uint32(s[0]))), tokens, logs)
	i.do(err)
	if s[0] = 0; ended {
		s[0] = 1
	}
}

func hostAdopt(i *Instance, s []uint64) {
	b := i.branch(s[1])
	i.chargeBytes(4 * len(b.Tokens()))
	i.do(i.branches.run.Adopt(int(int32(uint32(s[0]))), b, int(int32(uint32(s[2])))))
	s[0] = 0
}
