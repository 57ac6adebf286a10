// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Choice is a sampler's decision: Edited, Biased, or a result of Keep or Take.
type Choice int32

// Decision is another name of Choice, which is not to be confused with the Choice of a Request.
type Decision = Choice

// Edited leaves the choice to later stages: the view was edited, or left as it was.
const Edited Choice = abi.SampleEdited

// Keep leaves the choice to later stages, which only see the first k candidates as they were shown:
// edits are ignored. It costs less than Edited, since nothing is read back. A k below 1 counts as
// 1; with a whole row it has no effect.
func Keep(k int) Choice { return Choice(-1 - max(k, 1)) }

// Take takes a token and ends the chain.
func Take(t Token) Choice { return Choice(t) }

// Token is the token that is taken, if one is.
func (c Choice) Token() (Token, bool) { return Token(c), c >= 0 }

var errBind = errors.New("the host refused a buffer that the plugin's methods need")

// words allocates a buffer and passes it to the host. It is allocated at run time, since a large
// static array would be written out in the module.
func words(kind int32, n int) []uint32 {
	w := make([]uint32, n)
	if abi.Bind(kind, unsafe.Pointer(&w[0]), int32(4*n)) != abi.BindOk {
		return nil
	}
	return w
}

// view is what the sampler sees, in memory that is allocated when a request is opened.
var view struct {
	sampler    Sampler
	row        RowSampler
	ids        []Token
	logits     []float32
	keeps      bool // the host knows the answer of Keep
	candidates Candidates
	whole      Row
}

func beginSample(value any) {
	guest.Sample, view.sampler, view.row = nil, nil, nil
	if s, ok := value.(Sampler); ok {
		view.sampler, guest.Sample = s, sampleCandidates
	}
	if r, ok := value.(RowSampler); ok {
		view.row, guest.Sample = r, sampleRow
	}
}

// bindView allocates the view's memory.
func bindView() bool {
	view.ids, view.logits = nil, nil
	switch {
	case guest.Sample == nil || manifest.View == None:
		return true
	case view.row != nil:
		w := words(abi.BufferLogits, max(1, VocabSize()))
		view.logits = unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
		return w != nil
	}
	view.keeps = Feature("sample_keep")
	n := manifest.Candidates
	if n == 0 {
		n = abi.LimitDefaultCandidates
	}
	w := words(abi.BufferCandidates, 2*n)
	if w == nil {
		return false
	}
	view.ids, view.logits = w[:n], unsafe.Slice((*float32)(unsafe.Pointer(&w[n])), n)
	return true
}

func sampleCandidates(n int32) int32 {
	c := &view.candidates
	c.ids, c.logits = view.ids[:n], view.logits[:n]
	biases[0] = 0
	choice := view.sampler.Sample(c)
	if choice == Biased {
		return biasedNow(c.ids, c.logits)
	}
	if choice < Edited && !view.keeps {
		for i := int(-1 - choice); i < len(c.logits); i++ {
			c.logits[i] = banned
		}
		return int32(Edited)
	}
	return int32(choice)
}

func sampleRow(n int32) int32 {
	view.whole.logits = view.logits[:n]
	biases[0] = 0
	choice := view.row.SampleRow(&view.whole)
	if choice == Biased {
		return biasedNow(nil, view.whole.logits)
	}
	return int32(choice)
}

var banned = float32(math.Inf(-1))
