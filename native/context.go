// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"cmp"
	"fmt"
	"strings"
	"unsafe"
)

// ContextOptions size a context. Zero values take the defaults named.
type ContextOptions struct {
	Cells          int    // KV cells in all, shared where Unified; 0: as many as the model was trained for
	Batch          int    // tokens a forward pass may carry; 0: 2048
	UBatch         int    // tokens computed at once; 0: 512
	Sequences      int    // 1 to 256; 0: 1
	Rows           int    // output rows a forward pass may have; 0: one for each sequence
	Threads        int    // 0: physical cores
	Poll           int    // 0..100: how long idle workers spin before they sleep
	FlashAttention string // auto, on, off; "" is auto
	KVType         string // f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1; "" is f16, which the host has; tests compare with f32
	Unified        bool   // all sequences share one buffer of cells; else each has its own
	Output         Output // what a pass gives; where it is not Logits, Rows is of no account
}

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
	Cells     int // KV cells
	Positions int // positions one sequence may have
	Batch     int // tokens a forward pass may carry
	UBatch    int
	Sequences int
	Rows      int  // output rows a forward pass may have
	Memory    bool // false: the model keeps nothing between passes, so it cannot continue a text
}

// Context is llama.cpp's state of a model in use: the KV cache of its sequences and the output of the last forward pass. Its methods do
// not run concurrently, except Abort, Pause and Resume.
type Context struct {
	object
	model    *Model
	limits   Limits
	output   Output
	first    *C.float // row 0; a field, because a variable would move to the heap for the call
	rows     int
	err      C.ps_error
	adapters *keptAdapters
}

var kvTypes = map[string]C.int32_t{
	"": 1, "f32": 0, "f16": 1, "bf16": 30, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20,
}

var flashAttention = map[string]C.int32_t{"": -1, "auto": -1, "off": 0, "on": 1}

func (o ContextOptions) params() (C.ps_context_params, error) {
	kv, ok := kvTypes[strings.ToLower(o.KVType)]
	if !ok {
		return C.ps_context_params{}, fmt.Errorf("%w: KV type %q; use f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0 or q5_1", ErrInvalid, o.KVType)
	}
	flash, ok := flashAttention[strings.ToLower(o.FlashAttention)]
	if !ok {
		return C.ps_context_params{}, fmt.Errorf("%w: flash attention %q; use auto, on or off", ErrInvalid, o.FlashAttention)
	}
	for name, v := range map[string]int{"cells": o.Cells, "batch": o.Batch, "ubatch": o.UBatch, "sequences": o.Sequences,
		"rows": o.Rows, "threads": o.Threads, "poll": o.Poll} {
		if v < 0 || v > 1<<28 {
			return C.ps_context_params{}, fmt.Errorf("%w: %s is %d; it must not be negative or over %d", ErrInvalid, name, v, 1<<28)
		}
	}
	return C.ps_context_params{
		output:          C.int32_t(o.Output),
		cells:           C.uint32_t(o.Cells),
		batch:           C.uint32_t(cmp.Or(o.Batch, 2048)),
		ubatch:          C.uint32_t(cmp.Or(o.UBatch, 512)),
		sequences:       C.uint32_t(cmp.Or(o.Sequences, 1)),
		rows:            C.uint32_t(o.Rows),
		threads:         C.int32_t(cmp.Or(o.Threads, PhysicalCores())),
		poll:            C.uint32_t(o.Poll),
		flash_attention: flash,
		type_k:          kv,
		type_v:          kv,
		unified:         C._Bool(o.Unified),
	}, nil
}

// NewContext makes a context on m, which may be closed before it.
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
		model: m, output: o.Output, adapters: adapters,
		limits: Limits{
			Cells: int(l.cells), Positions: int(l.positions), Batch: int(l.batch), UBatch: int(l.ubatch),
			Sequences: int(l.sequences), Rows: int(l.rows), Memory: bool(l.memory),
		},
	}
	ctx.own(unsafe.Pointer(c), m, func() { C.ps_context_free(c); adapters.drop() })
	return ctx, nil
}

// Limits are the sizes of the context.
func (c *Context) Limits() Limits { return c.limits }

// Model is the model the context was made on.
func (c *Context) Model() *Model { return c.model }

// Decode runs one forward pass over b and waits for it. ErrNoCells and ErrInvalid mean that it had no effect; after any other error the
// KV cache holds an unknown part of the batch.
func (c *Context) Decode(b *Batch) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	c.first, c.rows = nil, 0
	if err := b.check(); err != nil {
		return err
	}
	if err := c.finishCopyFor(b); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	code := C.ps_decode(c.c(), C.size_t(len(b.Tokens)),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Tokens))),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Positions))),
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.Sequences))),
		(*C._Bool)(unsafe.Pointer(unsafe.SliceData(b.Outputs))),
		&c.first, &c.err)
	if code != C.PS_OK {
		return fmt.Errorf("decode: %w", failure(code, &c.err))
	}
	for _, wanted := range b.Outputs {
		if wanted && c.output != Scores {
			c.rows++
		}
	}
	return nil
}

// Rows is how many output rows the last pass had.
func (c *Context) Rows() int { return c.rows }

// Row is a view of output row i of the last pass, logits or an embedding, in batch order; nil if there is no such row. It is
// llama.cpp's own memory: writing to it is allowed, and it must not be touched after the next Decode or Close.
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

// Scores is a view of what the classifier gives a sequence of the last pass, one number for each of ModelInfo.Classes. As with Row, it
// must not be touched after the next Decode or Close. Other outputs have none: ErrInvalid.
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

// Pause has a running Decode, and later ones, wait between two operations until Resume (on the CPU only). An operation is a product of
// matrices or less. It may be called from any goroutine, and does not wait itself.
func (c *Context) Pause() { c.pause(true) }

// Resume ends Pause.
func (c *Context) Resume() { c.pause(false) }

func (c *Context) pause(on bool) {
	if c.h.hold() { // see Abort
		C.ps_context_pause(c.c(), C._Bool(on))
		c.h.drop()
	}
}

// Abort makes a running Decode return ErrAborted soon (on the CPU only). It may be called from any goroutine.
func (c *Context) Abort() {
	// A running Decode holds the lock, so being an owner is what keeps the context here. Close gives up its ownership once it has the
	// lock, that is after Decode.
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
		c.first, c.rows = nil, 0
		c.h.drop()
	}
	return nil
}

func (c *Context) c() *C.ps_context { return (*C.ps_context)(c.h.c) }
