// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"time"
	"unsafe"
)

// Head guesses how texts go on, with layers that were trained for that: in a model's own file
// (llama.cpp calls them MTP or nextn), or in ModelOptions.Head (Gemma 4's assistant, EAGLE-3,
// DFlash, DSpark). It reads each token together with the hidden state that the model had at the one
// before, so it follows every pass of the context that feeds it. Guesses are only guesses: what a
// Head knows less of, it guesses worse.
//
// # Notes
//
//   - It has cells of its own, of its own layers, and the sequences of its context. Gemma 4's
//     assistant has none: it reads those of the context.
//   - Its methods do not run concurrently, nor beside a pass of its context.
type Head struct {
	target, context *Context
	asks            []C.ps_head_ask
}

// NewHead makes the head of a context that was made with these options and FeedsHead.
//
// # Errors
//
//   - ErrUnsupported: the model has none, or llama.cpp cannot compute it.
func NewHead(target *Context, o ContextOptions) (*Head, error) {
	o.FeedsHead, o.Snapshots, o.Rows, o.Output = false, 0, 0, Logits
	m := target.model
	if m.head != nil {
		m = m.head
	}
	c, err := makeContext(m, o, target)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	return &Head{target: target, context: c}, nil
}

// Follow takes in the last pass of the context, which was over b. Where that was padded, tokens
// without logits are padding. After an error the head has forgotten the sequences that it was
// about to read.
func (h *Head) Follow(b *Batch, padded bool) error {
	return h.onMemory("follow", func(e *C.ps_error) C.int32_t {
		h.useThreads()
		return C.ps_head_follow(h.context.c(), h.target.c(), C.size_t(len(b.Tokens)),
			(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Tokens))),
			(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Positions))),
			(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Sequences))),
			(*C._Bool)(unsafe.Pointer(unsafe.SliceData(b.Outputs))), C._Bool(padded), e)
	})
}

// onMemory makes a call that may change the head's cells. A copy that the target makes may be of
// these, so it is kept waiting.
func (h *Head) onMemory(what string, call func(e *C.ps_error) C.int32_t) error {
	if err := h.target.enterAlone(); err != nil {
		return err
	}
	defer h.target.leaveAlone()
	return h.context.onMemory(what, call)
}

func (h *Head) useThreads() {
	C.ps_context_use_threads(h.context.c(), C.int32_t(h.target.governor.Now()))
}

// HeadAsk is a question for the next tokens of a sequence.
type HeadAsk struct {
	Sequence int32
	Token    int32 // that comes next, which the model has not computed
	Position int   // of it; the model has computed all before
	Most     int   // tokens wanted

	Draft []int32 // the guess; the memory is used again
	Gap   float32 // between the logits of its least sure token and of the next best
}

// Draft guesses for several sequences at once, in about the time given. Of a guess, all tokens but
// the first are likelier than the next best by least, as a difference of logits. After an error
// there are no guesses, and the head has forgotten these sequences.
func (h *Head) Draft(asks []HeadAsk, within time.Duration, least float32) error {
	h.asks = h.asks[:0]
	for i := range asks {
		a := &asks[i]
		a.Draft = a.Draft[:0]
		h.asks = append(h.asks, C.ps_head_ask{sequence: C.int32_t(a.Sequence), token: C.int32_t(a.Token), position: C.int32_t(a.Position),
			most: C.int32_t(min(a.Most, C.PS_MOST_DRAFTED))})
	}
	if len(asks) == 0 {
		return nil
	}
	err := h.onMemory("draft", func(e *C.ps_error) C.int32_t {
		h.useThreads()
		return C.ps_head_draft(h.context.c(), &h.asks[0], C.size_t(len(h.asks)), C.int64_t(within), C.float(least), e)
	})
	if err != nil {
		return err
	}
	for i := range asks {
		from := &h.asks[i]
		asks[i].Gap = float32(from.gap)
		for _, t := range from.tokens[:from.drafted] {
			asks[i].Draft = append(asks[i].Draft, int32(t))
		}
	}
	return nil
}

// Cut notes that a sequence has its first n positions left; 0: it is empty, or has others than the
// head has read.
func (h *Head) Cut(seq int32, n int) error {
	return h.onMemory("cut", func(e *C.ps_error) C.int32_t { return C.ps_head_cut(h.context.c(), C.int32_t(seq), C.int32_t(n), e) })
}

// Share notes that a sequence is the first n positions of another.
func (h *Head) Share(src, dst int32, n int) error {
	return h.onMemory("share", func(e *C.ps_error) C.int32_t {
		return C.ps_head_share(h.context.c(), C.int32_t(src), C.int32_t(dst), C.int32_t(n), e)
	})
}

// SaveState is the context's, and has what the head knows of the sequence behind the context's own
// cells.
func (h *Head) SaveState(seq int32) (*State, error) { return h.target.saveState(seq, h) }

// RestoreState is the context's. Of the sequence the head knows what it knew when the state was
// saved; where that was without a head, it begins at the end of what is restored.
func (h *Head) RestoreState(seq int32, s *State, n int) error {
	return h.target.restoreState(seq, s, n, h)
}

// Abort makes a running call return soon (on the CPU only). It may be called from any goroutine.
func (h *Head) Abort() { h.context.Abort() }

// Close frees the head after a running call has ended, which it aborts. The context stays.
func (h *Head) Close() error {
	h.context.Abort()
	h.target.FinishCopy() // it may be of the head's cells
	return h.context.Close()
}
