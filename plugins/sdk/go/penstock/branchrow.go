// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// State is what became of a branch.
type State int32

// The states.
const (
	Pending State = abi.StatePending // it has no row: wait for it
	Ready   State = abi.StateReady
	Running State = abi.StateRunning // as Run said
	Ran     State = abi.StateRan     // a run has its tokens, or there was no room for more
	Ended   State = abi.StateEnded   // a run has come to an end token, which was not appended
	Stuck   State = abi.StateStuck   // a run has come to where no token is possible
)

// Sample draws a token from what the model says after the branch, which it does not append. The
// request has an error afterwards, ErrNoToken, where none is possible.
func (b *Branch) Sample(c *Chain) Token {
	if b.fails() {
		return 0
	}
	return Token(max(0, b.run.check(abi.BranchSample(b.handle, c.number()))))
}

// Run has the branch go on by itself with the next wait, until it has n tokens more, or an end
// token is drawn. A wait for it waits for that. Meanwhile it may only be closed; afterwards State
// tells how it ended.
func (b *Branch) Run(c *Chain, n int) { b.start(c, n, 0) }

// RunScored is Run with tokens whose log-probabilities Scores is to give.
func (b *Branch) RunScored(c *Chain, n int) { b.start(c, n, abi.AppendScored) }

func (b *Branch) start(c *Chain, n int, flags int32) {
	if !b.fails() && n > 0 {
		b.run.check(abi.BranchRun(b.handle, c.number(), int32(n), flags))
	}
}

// State tells what became of the branch.
func (b *Branch) State() State {
	if b.fails() {
		return Pending
	}
	return State(abi.BranchState(b.handle))
}

// NewMask is a set of tokens, at first without any, for Branch.Mask.
func NewMask() *Mask { return &Mask{make([]uint32, (VocabSize()+31)/32)} }

// Mask makes all other tokens impossible after the branch, until tokens are appended: Best,
// Logits, LogSum and Sample are without them.
func (b *Branch) Mask(m *Mask) {
	if !b.fails() {
		abi.BranchMask(b.handle, unsafe.Pointer(unsafe.SliceData(m.words)), int32(len(m.words)))
	}
}

// Weighted is a row of a sum.
type Weighted struct {
	Branch *Branch
	Weight float32
}

// Mix makes what the model says after the branch a sum of rows with weights, which are finite,
// until tokens are appended. All branches were waited for.
func (b *Branch) Mix(rows ...Weighted) {
	if b.fails() || len(rows) == 0 {
		return
	}
	type entry struct {
		branch int32
		weight float32
	}
	list := make([]entry, len(rows))
	for i, w := range rows {
		list[i] = entry{w.Branch.handle, w.Weight}
	}
	abi.BranchMix(b.handle, unsafe.Pointer(&list[0]), int32(len(list)))
}

// SetGrammar has the branch follow a grammar from here on, by its handle in package grammar; −1:
// none.
func (b *Branch) SetGrammar(handle int32) {
	if !b.fails() {
		b.run.check(abi.BranchGrammar(b.handle, handle))
	}
}
