// SPDX-License-Identifier: MIT

// Package sampler is the extension point that sees the logits.
package sampler

import (
	"errors"
	"math"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Edited is the answer of a sampler that changed the view, or left it as it is, and leaves the choice to later stages.
const Edited penstock.Token = abi.SampleEdited

// Sampler looks at what may come next.
type Sampler interface {
	// Sample edits the view in place and returns Edited, or returns the token that is to be taken. At least one logit must
	// stay above −Inf, and none may become NaN or +Inf.
	Sample(v View) penstock.Token
}

// View is what may come next, as the stages before left it. It must not be kept.
type View struct {
	// ID are the tokens, best first; nil where the manifest asks for the whole row, in which the index is the token.
	ID []penstock.Token
	// Logit are the tokens' logits, −Inf for one that is banned.
	Logit []float32
}

// Token is the token at an index of Logit.
func (v View) Token(i int) penstock.Token {
	if v.ID == nil {
		return penstock.Token(i)
	}
	return v.ID[i]
}

// Ban takes the token at an index out.
func (v View) Ban(i int) { v.Logit[i] = banned }

var banned = float32(math.Inf(-1))

var (
	sampler Sampler
	ids     []penstock.Token
	logits  []float32
)

// Register makes s the plugin's sampler.
func Register(s Sampler) {
	sampler = s
	guest.Sample = call
	guest.Bind = append(guest.Bind, bind)
}

func call(n int32) int32 {
	v := View{Logit: logits[:n]}
	if ids != nil {
		v.ID = ids[:n]
	}
	return sampler.Sample(v)
}

var errView = errors.New("the host refused the buffer of the sampler's view")

// bind makes the view that the manifest asks for.
func bind() error {
	m := penstock.Registered()
	kind, n := int32(abi.BufferCandidates), m.Candidates
	switch m.View {
	case penstock.None:
		return nil
	case penstock.Logits:
		kind, n = abi.BufferLogits, max(1, penstock.VocabSize())
		logits = make([]float32, n)
	default:
		if n == 0 {
			n = abi.LimitDefaultCandidates
		}
		ids = make([]penstock.Token, 2*n)
		logits = unsafe.Slice((*float32)(unsafe.Pointer(&ids[n])), n)
	}
	view, size := unsafe.Pointer(unsafe.SliceData(logits)), 4*n
	if kind == abi.BufferCandidates {
		view, size = unsafe.Pointer(&ids[0]), 8*n
	}
	if abi.Bind(kind, view, int32(size)) != abi.BindOk {
		return errView
	}
	return nil
}

//go:wasmexport penstock_sample
func export(n int32) int32 { return guest.Sample(n) }
