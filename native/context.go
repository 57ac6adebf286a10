// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/penstock/penstock/native/governor"
)

// Output is what the passes of a context give.
type Output int32

// The outputs.
const (
	Logits     Output = C.PS_LOGITS     // of the tokens that are to have any
	Embeddings Output = C.PS_EMBEDDINGS // of every token, ModelInfo.EmbeddingOut wide and not pooled
	Scores     Output = C.PS_SCORES     // of every sequence, by the model's classifier
)

// Limits are the sizes a context came out with.
type Limits struct {
	Cells       int // KV cells
	Positions   int // positions one sequence may have
	Batch       int // tokens a forward pass may carry
	UBatch      int
	Sequences   int
	Rows        int  // output rows a forward pass may have
	Snapshots   int  // states of each recurrent sequence that Remove can go back to; 0: none
	Trained     int  // positions the model was trained for, or that ContextOptions.Rope extends that to; 0: unknown
	HiddenState int  // width of the hidden states that passes can give beside logits; 0: they cannot, with this model's architecture
	Memory      bool // false: the model keeps nothing between passes, so it cannot continue a text
}

// Context is llama.cpp's state of a model in use: the KV cache of its sequences and the output of
// the last forward pass. Its methods do not run concurrently, except Abort, Pause and Resume.
type Context struct {
	object
	model    *Model
	limits   Limits
	output   Output
	first    *C.float // row 0; a field, because a variable would move to the heap for the call
	states   *C.float // of row 0; nil: none
	rows     int
	err      C.ps_error
	adapters *keptAdapters
	governor *governor.Governor
}

// NewContext makes a context on m, which may be closed before it. The system promises more memory
// than there is, and kills the process that uses it: ask DryRun.Need first.
func NewContext(m *Model, o ContextOptions) (*Context, error) {
	params, err := o.params()
	if err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("context: model %w", err)
	}
	defer m.leave()
	var e C.ps_error
	var c *C.ps_context
	if err := failure(C.ps_context_new(m.c(), &params, &c, &e), &e); err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	var l C.ps_context_limits
	C.ps_context_limits_of(c, &l)

	adapters := &keptAdapters{}
	ctx := &Context{
		model: m, output: o.Output, adapters: adapters, governor: governor.New(int(max(params.threads, params.threads_batch))),
		limits: Limits{
			Cells: int(l.cells), Positions: int(l.positions), Batch: int(l.batch), UBatch: int(l.ubatch),
			Sequences: int(l.sequences), Rows: int(l.rows), Snapshots: int(l.snapshots), Trained: int(l.trained), HiddenState: int(l.state), Memory: bool(l.memory),
		},
	}
	ctx.own(unsafe.Pointer(c), m, func() { C.ps_context_free(c); adapters.drop() })
	return ctx, nil
}

// Limits are the sizes of the context.
func (c *Context) Limits() Limits { return c.limits }

// Model is the model the context was made on.
func (c *Context) Model() *Model { return c.model }

// Threads is how many threads compute at present: fewer than there are while other programs take
// the processors. It may be called from any goroutine.
func (c *Context) Threads() int { return c.governor.Now() }

// Decode runs one forward pass over b and waits for it. ErrNoCells and ErrInvalid mean that it had
// no effect; after any other error the KV cache holds an unknown part of the batch.
func (c *Context) Decode(b *Batch) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	c.first, c.states, c.rows = nil, nil, 0
	if err := b.check(); err != nil {
		return err
	}
	if err := c.finishCopyFor(b); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	C.ps_context_use_threads(c.c(), C.int32_t(c.governor.Threads(len(b.Tokens))))
	begun := time.Now()
	code := C.ps_decode(c.c(), C.size_t(len(b.Tokens)),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Tokens))),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Positions))),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Sequences))),
		(*C._Bool)(unsafe.Pointer(unsafe.SliceData(b.Outputs))),
		C._Bool(b.HiddenStates), &c.first, &c.states, &c.err)
	if code != C.PS_OK {
		return fmt.Errorf("decode: %w", failure(code, &c.err))
	}
	c.governor.Observe(time.Since(begun), time.Duration(C.ps_context_stalled(c.c())))
	for _, wanted := range b.Outputs {
		if wanted && c.output != Scores {
			c.rows++
		}
	}
	return nil
}

// Rows is how many output rows the last pass had.
func (c *Context) Rows() int { return c.rows }

// Row is a view of output row i of the last pass, logits or an embedding, in batch order; nil if
// there is no such row. It is llama.cpp's own memory: writing to it is allowed, and it must not be
// touched after the next Decode or Close.
func (c *Context) Row(i int) []float32 {
	if i < 0 || i >= c.rows || c.first == nil {
		return nil
	}
	n := c.model.info.Vocabulary
	if c.output == Embeddings {
		n = c.model.info.EmbeddingOut
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(c.first)), c.rows*n)[i*n : (i+1)*n : (i+1)*n]
}

// HiddenState is a view of the hidden state of output row i of the last pass, Limits.HiddenState
// wide: what the model's last layer gives, after the norm and before the vocabulary, as with the
// output Embeddings. It is nil if there is no such row, if Batch.HiddenStates did not ask for it,
// or if the model has none. As with Row, it must not be touched after the next Decode or Close.
func (c *Context) HiddenState(i int) []float32 {
	n := c.limits.HiddenState
	if i < 0 || i >= c.rows || c.states == nil {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(c.states)), c.rows*n)[i*n : (i+1)*n : (i+1)*n]
}

// Scores is a view of what the classifier gives a sequence of the last pass, one number for each
// of ModelInfo.Classes. As with Row, it must not be touched after the next Decode or Close. Other
// outputs have none: ErrInvalid.
func (c *Context) Scores(seq int32) ([]float32, error) {
	if err := c.enterAlone(); err != nil {
		return nil, err
	}
	defer c.leaveAlone()
	var scores *C.float
	if code := C.ps_context_scores(c.c(), C.int32_t(seq), &scores, &c.err); code != C.PS_OK {
		return nil, fmt.Errorf("scores: %w", failure(code, &c.err))
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(scores)), len(c.model.info.Classes)), nil
}

// Pause has a running Decode, and later ones, wait between two operations until Resume (on the CPU
// only). An operation is a product of matrices or less. It may be called from any goroutine, and
// does not wait itself.
func (c *Context) Pause() { c.pause(true) }

// Resume ends Pause.
func (c *Context) Resume() { c.pause(false) }

func (c *Context) pause(on bool) {
	if c.h.hold() { // see Abort
		C.ps_context_pause(c.c(), C._Bool(on))
		c.h.drop()
	}
}

// Abort makes a running Decode return ErrAborted soon (on the CPU only). It may be called from any
// goroutine.
func (c *Context) Abort() {
	// A running Decode holds the lock, so being an owner is what keeps the context here. Close
	// gives up its ownership once it has the lock, that is after Decode.
	if c.h.hold() {
		C.ps_context_abort(c.c())
		c.h.drop()
	}
}

// Close frees the context after a running Decode has ended, which it aborts.
func (c *Context) Close() error {
	c.Abort()
	if c.shut() {
		c.cleanup.Stop()
		c.first, c.states, c.rows = nil, nil, 0
		c.h.drop()
	}
	return nil
}

func (c *Context) c() *C.ps_context { return (*C.ps_context)(c.h.c) }
