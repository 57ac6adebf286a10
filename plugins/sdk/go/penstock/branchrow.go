// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// State is the state of a branch.
type State int32

// The states.
const (
	Pending State = abi.StatePending // it has no row: wait for it
	Ready   State = abi.StateReady   // it has its row
	Running State = abi.StateRunning // as Run said
	Ran     State = abi.StateRan     // a run has its tokens, or there was no room for more
	Ended   State = abi.StateEnded   // a run has come to an end token, which was not appended
	Stuck   State = abi.StateStuck   // a run has come to where no token is possible
)

// Sample draws a token from the row after the branch and does not append it. If no token is
// possible, the request has the error ErrNoToken afterwards.
func (b *Branch) Sample(c *Chain) Token {
	if b.fails() {
		return 0
	}
	return Token(max(0, b.run.check(abi.BranchSample(b.handle, c.number()))))
}

// Run lets the host continue the branch: from the next wait on it draws n tokens, or fewer if an
// end token is drawn. A wait for the branch waits for the end of the run. Until then the branch may
// only be closed; afterwards State says how the run ended.
func (b *Branch) Run(c *Chain, n int) { b.start(c, n, 0) }

// RunScored is Run, and keeps the tokens' log-probabilities for Scores.
func (b *Branch) RunScored(c *Chain, n int) { b.start(c, n, abi.AppendScored) }

func (b *Branch) start(c *Chain, n int, flags int32) {
	if !b.fails() && n > 0 {
		b.run.check(abi.BranchRun(b.handle, c.number(), int32(n), flags))
	}
}

// State returns the state of the branch.
func (b *Branch) State() State {
	if b.fails() {
		return Pending
	}
	return State(abi.BranchState(b.handle))
}

// Status is another name of State, which is not the model's hidden state.
func (b *Branch) Status() State { return b.State() }

// NewMask returns an empty set of tokens for Branch.Mask.
func NewMask() *Mask { return &Mask{make([]uint32, (VocabSize()+31)/32)} }

// Mask makes all other tokens impossible after the branch, until tokens are appended: Best, Logits,
// LogSum and Sample leave them out.
func (b *Branch) Mask(m *Mask) {
	if !b.fails() {
		abi.BranchMask(b.handle, unsafe.Pointer(unsafe.SliceData(m.words)), int32(len(m.words)))
	}
}

// Weighted is a branch's row with its weight in a sum.
type Weighted struct {
	Branch *Branch
	Weight float32
}

// Mix replaces the row after the branch by a weighted sum of rows, until tokens are appended.
// Weights are finite, and all branches have been waited for.
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

// SetGrammar constrains the branch to a grammar from here on, given by its handle in package
// grammar; −1 removes it.
func (b *Branch) SetGrammar(handle int32) {
	if !b.fails() {
		b.run.check(abi.BranchGrammar(b.handle, handle))
	}
}
