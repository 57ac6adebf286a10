// SPDX-License-Identifier: MIT

package penstock

import (
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// Branch is a list of tokens that the model can continue. Branches share their common beginning.
type Branch struct {
	run    *Run
	handle int32
	said   []uint32
}

// fails reports whether something went wrong before.
func (b *Branch) fails() bool { return b.run.err != nil }

// Fork opens another branch with the same tokens, which are computed only once. A fork is cheapest
// after the branch that it replaces is closed.
func (b *Branch) Fork() *Branch {
	return b.run.branch(func() int32 { return abi.BranchFork(b.handle) })
}

// Close closes the branch.
func (b *Branch) Close() {
	if !b.fails() {
		abi.BranchClose(b.handle)
	}
}

// Cut keeps the first n tokens, at least one.
func (b *Branch) Cut(n int) {
	if !b.fails() {
		abi.BranchCut(b.handle, int32(n))
	}
}

// Append appends tokens.
func (b *Branch) Append(tokens ...Token) { b.grow(tokens, 0) }

// AppendScored appends tokens and keeps their log-probabilities for Scores.
func (b *Branch) AppendScored(tokens ...Token) { b.grow(tokens, abi.AppendScored) }

func (b *Branch) grow(tokens []Token, flags int32) {
	if !b.fails() && len(tokens) > 0 {
		b.run.check(abi.BranchAppend(b.handle, unsafe.Pointer(&tokens[0]), int32(len(tokens)), flags))
	}
}

// Len is how many tokens the branch has.
func (b *Branch) Len() int {
	if b.fails() {
		return 0
	}
	return int(abi.BranchTokens(b.handle, 0, nil, 0))
}

// Tokens are the branch's tokens from index from on, prompt included.
func (b *Branch) Tokens(from int) []Token {
	n := b.Len() - from
	if n <= 0 {
		return nil
	}
	tokens := make([]Token, n)
	abi.BranchTokens(b.handle, int32(from), unsafe.Pointer(&tokens[0]), int32(n))
	return tokens
}

// Best are the k most likely next tokens, best first, with their log-probabilities; there are fewer
// if fewer are possible. They are valid until the next call.
func (b *Branch) Best(k int) (ids []Token, logs []float32) {
	n := b.candidates(k)
	sum := math.Float32frombits(b.said[0])
	logs = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b.said[2+k:]))), k)[:n]
	for i := range logs {
		logs[i] -= sum
	}
	return b.said[2 : 2+n], logs
}

// LogSum is the natural logarithm of the sum of the exponentials of the logits after the branch.
func (b *Branch) LogSum() float32 {
	b.candidates(0)
	return math.Float32frombits(b.said[0])
}

// Entropy is the entropy of the model's distribution of the next token, in nats.
func (b *Branch) Entropy() float32 {
	b.candidates(0)
	return math.Float32frombits(b.said[1])
}

func (b *Branch) candidates(k int) int {
	if size := 2 + 2*k; cap(b.said) < size {
		b.said = make([]uint32, size)
	}
	b.said = b.said[:2+2*k]
	if b.fails() {
		return 0
	}
	return int(abi.BranchCandidates(b.handle, int32(k), unsafe.Pointer(&b.said[0])))
}

// Logits writes the model's logits of the next token into row, one for each token of the
// vocabulary, if there is room for all, and returns how many there are.
func (b *Branch) Logits(row []float32) int {
	if b.fails() {
		return 0
	}
	return int(abi.BranchLogits(b.handle, unsafe.Pointer(unsafe.SliceData(row)), int32(len(row))))
}

// HiddenState is the output of the model's last layer after the branch, from which its logits are
// computed: what the function HiddenState is in plugins that are no programs. It needs a wait for
// the branch before, as all that reads the row does, and is written to the memory of into if that
// is large enough. Mask and Mix leave it as it is. It is empty on a host without this function.
func (b *Branch) HiddenState(into []float32) []float32 {
	if b.fails() || !Feature("branch_hidden_state") {
		return nil
	}
	return readState(into, func(to unsafe.Pointer, limit int32) int32 { return abi.BranchHiddenState(b.handle, to, limit) })
}

// Scores are the log-probabilities of the tokens from index from on, each given those before it;
// NaN for tokens that were not appended with AppendScored or RunScored.
func (b *Branch) Scores(from int) []float32 {
	n := b.Len() - from
	if n <= 0 || b.fails() {
		return nil
	}
	scores := make([]float32, n)
	abi.BranchScores(b.handle, int32(from), unsafe.Pointer(&scores[0]), int32(n))
	return scores
}

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
