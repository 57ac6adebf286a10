// SPDX-License-Identifier: MIT

package plugintest

import (
	"crypto/sha256"
	"encoding/hex"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

// deed is a call of a program with what it gave and got, so that it can be answered once more
// without a model.
type deed struct {
	Do      string  `json:"do"`
	Args    []int32 `json:"args,omitempty"`   // its parameters but for addresses
	Tokens  []int32 `json:"tokens,omitempty"` // -1: a row of a picture or a sound
	Numbers logits  `json:"numbers,omitempty"`
	Text    *text   `json:"text,omitempty"`
	SHA256  string  `json:"sha256,omitempty"`
	Answer  int32   `json:"answer,omitempty"`
	Got     *got    `json:"got,omitempty"`
	Added   int64   `json:"added,omitempty"` // fuel that a wait brings
}

// got is what a program gets in its memory.
type got struct {
	Tokens  []int32 `json:"tokens,omitempty"`
	Numbers logits  `json:"numbers,omitempty"`
	Text    *text   `json:"text,omitempty"`
}

// notingHost is a host that writes down what a program does: a step until each wait.
type notingHost struct{ host }

func (h notingHost) did(answer int32, d deed) int32 {
	d.Answer = answer
	h.s.deeds = append(h.s.deeds, d)
	return answer
}

// endStep writes down what was done since the last wait, or all that was left when the run was
// over.
func (s *Session) endStep(c call) {
	c.Deeds, s.deeds = s.deeds, nil
	s.note(c)
}

// copied is a copy of n numbers of 32 bits.
func copied[T any](p unsafe.Pointer, n int32) []T {
	return append([]T(nil), unsafe.Slice((*T)(p), n)...)
}

// fitting is what was written, if there was room.
func fitting[T any](p unsafe.Pointer, n, limit int32) []T {
	if n < 0 || n > limit {
		return nil
	}
	return copied[T](p, n)
}

func (h notingHost) BranchOpen(p unsafe.Pointer, n int32) int32 {
	return h.did(h.host.BranchOpen(p, n), deed{Do: "branch_open", Args: []int32{n}, Tokens: copied[int32](p, n)})
}

func (h notingHost) BranchOpenMessages(p unsafe.Pointer, n int32) int32 {
	return h.did(h.host.BranchOpenMessages(p, n), deed{Do: "branch_open_messages", Args: []int32{n}, Text: newText(take(p, n))})
}

func (h notingHost) BranchFork(b int32) int32 {
	return h.did(h.host.BranchFork(b), deed{Do: "branch_fork", Args: []int32{b}})
}

func (h notingHost) BranchClose(b int32) int32 {
	return h.did(h.host.BranchClose(b), deed{Do: "branch_close", Args: []int32{b}})
}

func (h notingHost) BranchCut(b, length int32) int32 {
	return h.did(h.host.BranchCut(b, length), deed{Do: "branch_cut", Args: []int32{b, length}})
}

func (h notingHost) BranchAppend(b int32, p unsafe.Pointer, n, flags int32) int32 {
	return h.did(h.host.BranchAppend(b, p, n, flags), deed{Do: "branch_append", Args: []int32{b, n, flags}, Tokens: copied[int32](p, n)})
}

func (h notingHost) BranchTokens(b, from int32, p unsafe.Pointer, limit int32) int32 {
	n := h.host.BranchTokens(b, from, p, limit)
	return h.did(n, deed{Do: "branch_tokens", Args: []int32{b, from, limit}, Got: &got{Tokens: fitting[int32](p, n, limit)}})
}

func (h notingHost) BranchesWait(p unsafe.Pointer, n, k, flags int32) int32 {
	handles, before := copied[int32](p, n), h.s.computed
	answer := h.host.BranchesWait(p, n, k, flags)
	h.did(answer, deed{Do: "branches_wait", Args: []int32{n, k, flags}, Tokens: handles, Got: &got{Tokens: copied[int32](p, n)},
		Added: int64(h.s.computed-before) * abi.LimitHookFuel})
	h.s.endStep(call{Call: "step"})
	return answer
}

func (h notingHost) BranchCandidates(b, k int32, p unsafe.Pointer) int32 {
	n := h.host.BranchCandidates(b, k, p)
	ids, numbers := copied[int32](p, 2+n), copied[float32](p, 2+2*k)
	return h.did(n, deed{Do: "branch_candidates", Args: []int32{b, k}, Got: &got{Tokens: ids[2:], Numbers: append(numbers[:2:2], numbers[2+k:2+k+n]...)}})
}

func (h notingHost) BranchLogits(b int32, p unsafe.Pointer, limit int32) int32 {
	n := h.host.BranchLogits(b, p, limit)
	return h.did(n, deed{Do: "branch_logits", Args: []int32{b, limit}, Got: &got{Numbers: fitting[float32](p, n, limit)}})
}

func (h notingHost) BranchScores(b, from int32, p unsafe.Pointer, limit int32) int32 {
	n := h.host.BranchScores(b, from, p, limit)
	return h.did(n, deed{Do: "branch_scores", Args: []int32{b, from, limit}, Got: &got{Numbers: fitting[float32](p, n, limit)}})
}

func (h notingHost) BranchMask(b int32, p unsafe.Pointer, n int32) int32 {
	sum := sha256.Sum256([]byte(take(p, 4*n)))
	return h.did(h.host.BranchMask(b, p, n), deed{Do: "branch_mask", Args: []int32{b, n}, SHA256: hex.EncodeToString(sum[:])})
}

func (h notingHost) BranchMix(b int32, p unsafe.Pointer, n int32) int32 {
	d := deed{Do: "branch_mix", Args: []int32{b, n}}
	for i := range n {
		d.Tokens = append(d.Tokens, copied[int32](p, 2*n)[2*i])
		d.Numbers = append(d.Numbers, copied[float32](p, 2*n)[2*i+1])
	}
	return h.did(h.host.BranchMix(b, p, n), d)
}

func (h notingHost) BranchGrammar(b, grammar int32) int32 {
	return h.did(h.host.BranchGrammar(b, grammar), deed{Do: "branch_grammar", Args: []int32{b, grammar}})
}

func (h notingHost) ChainOpen(p unsafe.Pointer, n int32) int32 {
	return h.did(h.host.ChainOpen(p, n), deed{Do: "chain_open", Args: []int32{n}, Text: newText(take(p, n))})
}

func (h notingHost) BranchSample(b, chain int32) int32 {
	return h.did(h.host.BranchSample(b, chain), deed{Do: "branch_sample", Args: []int32{b, chain}})
}

func (h notingHost) BranchRun(b, chain, n, flags int32) int32 {
	return h.did(h.host.BranchRun(b, chain, n, flags), deed{Do: "branch_run", Args: []int32{b, chain, n, flags}})
}

func (h notingHost) BranchState(b int32) int32 {
	return h.did(h.host.BranchState(b), deed{Do: "branch_state", Args: []int32{b}})
}

func (h notingHost) BranchReason(p unsafe.Pointer, limit int32) int32 {
	n := h.host.BranchReason(p, limit)
	return h.did(n, deed{Do: "branch_reason", Args: []int32{limit}, Got: &got{Text: newText(string(fitting[byte](p, n, limit)))}})
}

func (h notingHost) Show(choice int32, p, logs unsafe.Pointer, n int32) int32 {
	d := deed{Do: "show", Args: []int32{choice, n}, Tokens: copied[int32](p, n)}
	if logs != nil {
		d.Numbers = copied[float32](logs, n)
	}
	return h.did(h.host.Show(choice, p, logs, n), d)
}

func (h notingHost) Adopt(choice, b, from int32) int32 {
	return h.did(h.host.Adopt(choice, b, from), deed{Do: "adopt", Args: []int32{choice, b, from}})
}
