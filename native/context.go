// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
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
	StateLayers int  // layers whose states they can give, too: all, or 0
	Memory      bool // false: the model keeps nothing between passes, so it cannot continue a text
}

// Context is llama.cpp's state of a model in use: the KV cache of its sequences and the output of
// the last forward pass. Its methods do not run concurrently, except Abort, Pause and Resume.
type Context struct {
	object
	model    *Model
	limits   Limits
	output   Output
	first    *C.float  // row 0; a field, because a variable would move to the heap for the call
	states   **C.float // of row 0, for each of layers; nil: none
	layers   []int32   // of the last pass
	rows     int
	err      C.ps_error
	adapters *keptAdapters
	governor *governor.Governor
	times    C.ps_pass_times // of the last pass; a field like first
	spent    struct{ launch, wait, copy atomic.Int64 }
}

// PassTime is what forward passes took.
type PassTime struct {
	Launch time.Duration // until llama.cpp had planned and launched them; what the CPU computes is in it
	Wait   time.Duration // for devices, after that
	Copy   time.Duration // of the logits from a device, by what it takes in one pass of 64
}

// NewContext makes a context on m, which may be closed before it. The system promises more memory
// than there is, and kills the process that uses it: ask DryRun.Need first.
func NewContext(m *Model, o ContextOptions) (*Context, error) { return makeContext(m, o, nil) }

// makeContext makes one that computes with the model, or with a head that guesses for a target.
func makeContext(m *Model, o ContextOptions, target *Context) (*Context, error) {
	params, err := o.params()
	if err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	if o.FeedsHead && m.head != nil {
		params.head = m.head.c()
	}
	if target != nil {
		if err := target.enterAlone(); err != nil {
			return nil, fmt.Errorf("context: of the target: %w", err)
		}
		defer target.leaveAlone()
		params.target = target.c()
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
			Sequences: int(l.sequences), Rows: int(l.rows), Snapshots: int(l.snapshots), Trained: int(l.trained), HiddenState: int(l.state), StateLayers: int(l.layers), Memory: bool(l.memory),
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

// Spent is what all passes took. It may be called from any goroutine.
func (c *Context) Spent() PassTime {
	return PassTime{time.Duration(c.spent.launch.Load()), time.Duration(c.spent.wait.Load()), time.Duration(c.spent.copy.Load())}
}

// notePass adds what the last pass took.
func (c *Context) notePass() {
	C.ps_context_times(c.c(), &c.times)
	c.spent.launch.Add(int64(c.times.launch))
	c.spent.wait.Add(int64(c.times.wait))
	c.spent.copy.Add(int64(c.times.copy))
}

// Decode runs one forward pass over b and waits for it. ErrNoCells and ErrInvalid mean that it had
// no effect; after any other error the KV cache holds an unknown part of the batch.
func (c *Context) Decode(b *Batch) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	c.first, c.states, c.rows = nil, nil, 0
	if err := b.check(c.limits.StateLayers); err != nil {
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
		(*C.int32_t)(unsafe.Pointer(unsafe.SliceData(b.HiddenStates))), C.size_t(len(b.HiddenStates)), &c.first, &c.states, &c.err)
	if code != C.PS_OK {
		return fmt.Errorf("decode: %w", failure(code, &c.err))
	}
	c.layers = append(c.layers[:0], b.HiddenStates...)
	took := time.Since(begun)
	c.notePass()
	c.governor.Observe(took, time.Duration(c.times.stalled))
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

// HiddenState is a view of a hidden state of output row i of the last pass, Limits.HiddenState
// wide. Layer 0 is what the model's last layer gives, after the norm and before the vocabulary, as
// with the output Embeddings; the layers from 1 to Limits.StateLayers are what each gives to the
// next. It is nil if there is no such row, if Batch.HiddenStates did not ask for it, or if the
// model has none. As with Row, it must not be touched after the next Decode or Close.
func (c *Context) HiddenState(layer int32, i int) []float32 {
	n, at := c.limits.HiddenState, slices.Index(c.layers, layer)
	if i < 0 || i >= c.rows || c.states == nil || at < 0 {
		return nil
	}
	first := unsafe.Slice(c.states, len(c.layers))[at]
	return unsafe.Slice((*float32)(unsafe.Pointer(first)), c.rows*n)[i*n : (i+1)*n : (i+1)*n]
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

// ContextOptions size a context and say how it computes, as llama_context_params does. Zero values
// take the defaults named.
type ContextOptions struct {
	Cells           int // KV cells in all, shared where Unified; 0: as many as the model was trained for
	Batch           int // tokens a forward pass may carry; 0: 2048
	UBatch          int // tokens computed at once; 0: 512
	Sequences       int // 1 to 256; 0: 1
	Rows            int // output rows a forward pass may have, also where Sequences are fewer; 0: one for each sequence
	Snapshots       int // states of each recurrent sequence that Remove can go back to; 0 where the model has none
	Threads         int // that compute one token; 0: physical cores
	ThreadsBatch    int // that compute more tokens than one; 0: as many
	Poll            int // 0..100: how long idle workers spin before they sleep
	Rope            Rope
	FlashAttention  string // auto, on, off; "" is auto
	TypeK, TypeV    string // of the KV cache: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1; "" is f16. A quantised V needs flash attention
	NoKVOffload     bool   // the KV cache and attention stay on the CPU
	NoOpOffload     bool   // no GPU computes with weights that are in main memory
	FullWindowCache bool   // sliding-window layers keep every position too, so that a sequence can be cut anywhere
	Unified         bool   // all sequences share one buffer of cells; else each has its own
	Output          Output // what a pass gives; where it is not Logits, Rows is of no account
	FeedsHead       bool   // passes keep what a Head reads; the model has one
}

// Rope is how positions are turned into rotations. Zero values are the model's own.
type Rope struct {
	Scaling   string  // none, linear, yarn or longrope
	FreqBase  float32 // base of the frequencies
	FreqScale float32 // factor of the frequencies: 0.25 stretches the context four times
	YaRN      *YaRN   // nil: the model's
}

// YaRN are the parameters of YaRN. Negative values, and 0 for OrigCtx, are the model's own.
type YaRN struct {
	OrigCtx    int     // tokens the model was trained for before it was extended
	ExtFactor  float32 // mix of extrapolation; 0: interpolation only
	AttnFactor float32 // factor of the attention's magnitude
	BetaFast   float32 // rotations within the context above which a frequency is not interpolated
	BetaSlow   float32 // rotations below which it is not extrapolated
}

var (
	kvTypes        = map[string]C.int32_t{"f32": 0, "f16": 1, "bf16": 30, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20}
	flashAttention = map[string]C.int32_t{"auto": -1, "off": 0, "on": 1}
	ropeScalings   = map[string]C.int32_t{"model": -1, "none": 0, "linear": 1, "yarn": 2, "longrope": 3}
)

// isQuantised reports whether a type of the KV cache stores values in blocks.
func isQuantised(kvType C.int32_t) bool {
	return kvType != kvTypes["f32"] && kvType != kvTypes["f16"] && kvType != kvTypes["bf16"]
}

func (o ContextOptions) params() (p C.ps_context_params, err error) {
	for _, f := range []struct {
		field, name, otherwise string
		among                  map[string]C.int32_t
		to                     *C.int32_t
	}{
		{"type of the K cache", o.TypeK, "f16", kvTypes, &p.type_k},
		{"type of the V cache", o.TypeV, "f16", kvTypes, &p.type_v},
		{"flash attention", o.FlashAttention, "auto", flashAttention, &p.flash_attention},
		{"rope scaling", o.Rope.Scaling, "model", ropeScalings, &p.rope_scaling},
	} {
		if *f.to, err = choose(f.field, f.name, f.otherwise, f.among); err != nil {
			return p, err
		}
	}
	if isQuantised(p.type_v) && p.flash_attention == flashAttention["off"] {
		return p, fmt.Errorf("%w: a V cache of type %s needs flash attention, which is off; turn it on, or use f16, bf16 or f32 for V", ErrInvalid, o.TypeV)
	}
	for name, v := range map[string]int{"cells": o.Cells, "batch": o.Batch, "ubatch": o.UBatch, "sequences": o.Sequences,
		"rows": o.Rows, "snapshots": o.Snapshots, "threads": o.Threads, "threads_batch": o.ThreadsBatch, "poll": o.Poll} {
		if v < 0 || v > 1<<28 {
			return p, fmt.Errorf("%w: %s is %d; it must not be negative or over %d", ErrInvalid, name, v, 1<<28)
		}
	}
	if err := o.Rope.put(&p); err != nil {
		return p, err
	}
	p.output = C.int32_t(o.Output)
	p.cells, p.batch, p.ubatch = C.uint32_t(o.Cells), C.uint32_t(cmp.Or(o.Batch, 2048)), C.uint32_t(cmp.Or(o.UBatch, 512))
	p.sequences, p.rows, p.snapshots = C.uint32_t(cmp.Or(o.Sequences, 1)), C.uint32_t(o.Rows), C.uint32_t(o.Snapshots)
	p.threads, p.poll = C.int32_t(cmp.Or(o.Threads, PhysicalCores())), C.uint32_t(o.Poll)
	p.threads_batch = cmp.Or(C.int32_t(o.ThreadsBatch), p.threads)
	p.no_kv_offload, p.no_op_offload = C._Bool(o.NoKVOffload), C._Bool(o.NoOpOffload)
	p.swa_full, p.unified, p.feeds_head = C._Bool(o.FullWindowCache), C._Bool(o.Unified), C._Bool(o.FeedsHead)
	return p, nil
}

func (r Rope) put(p *C.ps_context_params) error {
	yarn := YaRN{0, -1, -1, -1, -1}
	if r.YaRN != nil {
		yarn = *r.YaRN
	}
	for name, v := range map[string]float32{"rope freq base": r.FreqBase, "rope freq scale": r.FreqScale} {
		if !(v >= 0) || math.IsInf(float64(v), 1) {
			return fmt.Errorf("%w: %s is %g; it must be 0 or more", ErrInvalid, name, v)
		}
	}
	if r.FreqScale > 0 && r.FreqScale < 1e-6 {
		return fmt.Errorf("%w: rope freq scale is %g; it must be 0 or at least 1e-6", ErrInvalid, r.FreqScale)
	}
	for name, v := range map[string]float32{"ext factor": yarn.ExtFactor, "attn factor": yarn.AttnFactor, "beta fast": yarn.BetaFast, "beta slow": yarn.BetaSlow} {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("%w: YaRN's %s is %g; it must be a number", ErrInvalid, name, v)
		}
	}
	if yarn.OrigCtx < 0 || yarn.OrigCtx > 1<<28 {
		return fmt.Errorf("%w: YaRN's original context is %d; it must be 0 to %d", ErrInvalid, yarn.OrigCtx, 1<<28)
	}
	p.rope_freq_base, p.rope_freq_scale, p.yarn_orig_ctx = C.float(r.FreqBase), C.float(r.FreqScale), C.uint32_t(yarn.OrigCtx)
	p.yarn_ext_factor, p.yarn_attn_factor = C.float(yarn.ExtFactor), C.float(yarn.AttnFactor)
	p.yarn_beta_fast, p.yarn_beta_slow = C.float(yarn.BetaFast), C.float(yarn.BetaSlow)
	return nil
}

// Batch is the input of a forward pass: four columns of equal length, one entry a token. A caller
// may set the columns to slices of its own; Add and Reset reuse their memory.
type Batch struct {
	Tokens       []int32
	Positions    []int32
	Sequences    []int32
	Outputs      []bool  // whether the logits after this token are wanted
	HiddenStates []int32 // layers whose states of these tokens are wanted too, each once; see Context.HiddenState

	// DuringCopy allows a pass over the target of a copy that still runs: whatever it does to that
	// sequence will be undone. Without it, such a pass finishes the copy first.
	DuringCopy bool
}

// Add appends a token.
func (b *Batch) Add(token, position, sequence int32, output bool) {
	b.Tokens = append(b.Tokens, token)
	b.Positions = append(b.Positions, position)
	b.Sequences = append(b.Sequences, sequence)
	b.Outputs = append(b.Outputs, output)
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Tokens, b.Positions = b.Tokens[:0], b.Positions[:0]
	b.Sequences, b.Outputs, b.HiddenStates = b.Sequences[:0], b.Outputs[:0], b.HiddenStates[:0]
}

func (b *Batch) check(layers int) error {
	n := len(b.Tokens)
	if len(b.Positions) != n || len(b.Sequences) != n || len(b.Outputs) != n {
		return fmt.Errorf("decode: %w: the columns of the batch have %d, %d, %d and %d entries", ErrInvalid,
			n, len(b.Positions), len(b.Sequences), len(b.Outputs))
	}
	for i, layer := range b.HiddenStates {
		if layer < 0 || int(layer) > layers || slices.Contains(b.HiddenStates[:i], layer) {
			return fmt.Errorf("decode: %w: the states of layer %d, of %d, or twice", ErrInvalid, layer, layers)
		}
	}
	return nil
}

// EmbeddingBatch is the input of a forward pass over the embeddings of one piece of a picture or a
// sound, or over some of them.
type EmbeddingBatch struct {
	Piece    Piece
	Values   []float32 // of the whole piece, as Projector.Encode gives them
	From, To int       // the embeddings that the pass computes; all of a piece that is Whole
	Position int32     // of the piece's first embedding, whatever From is
	Sequence int32

	// DuringCopy is as in Batch.
	DuringCopy bool
}

// DecodeEmbeddings runs one forward pass over b and waits for it. It gives no rows: a prompt ends
// in a token. Errors are those of Decode.
func (c *Context) DecodeEmbeddings(b *EmbeddingBatch) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	c.first, c.states, c.rows = nil, nil, 0
	width := c.model.info.EmbeddingIn
	if b.From < 0 || b.From >= b.To || b.To > b.Piece.Embeddings || len(b.Values) != b.Piece.Embeddings*width {
		return fmt.Errorf("decode: %w: embeddings %d to %d of %d, with %d numbers of %d each", ErrInvalid, b.From, b.To, b.Piece.Embeddings,
			len(b.Values), width)
	}
	if err := c.finishCopyFor(&Batch{Sequences: []int32{b.Sequence}, DuringCopy: b.DuringCopy}); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	batch := C.ps_embedding_batch{
		from: C.size_t(b.From), to: C.size_t(b.To), piece: C.size_t(b.Piece.Embeddings), columns: C.int32_t(b.Piece.Columns),
		whole: C._Bool(b.Piece.Whole), position: C.int32_t(b.Position), sequence: C.int32_t(b.Sequence),
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	first := &b.Values[b.From*width]
	pin.Pin(first)
	batch.values = (*C.float)(unsafe.Pointer(first))
	C.ps_context_use_threads(c.c(), C.int32_t(c.governor.Now())) // no trial of other numbers: those compare passes over tokens
	if code := C.ps_decode_embeddings(c.c(), &batch, &c.err); code != C.PS_OK {
		return fmt.Errorf("decode: %w", failure(code, &c.err))
	}
	c.notePass()
	return nil
}

// Remove drops the positions [p0, p1) of a sequence; negative bounds are open. A recurrent model
// drops only whole sequences: ErrFailed, and nothing is changed.
func (c *Context) Remove(seq int32, p0, p1 int) error {
	return c.onMemory("remove", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_remove(c.c(), C.int32_t(seq), C.int32_t(p0), C.int32_t(p1), e)
	})
}

// Range returns the first and the last position held of a sequence; both are -1 if it is empty.
// The first is above 0 where a sliding window has moved on.
func (c *Context) Range(seq int32) (first, last int, err error) {
	var f, l C.int32_t
	err = c.onMemory("range", func(e *C.ps_error) C.int32_t {
		return C.ps_memory_range(c.c(), C.int32_t(seq), &f, &l, e)
	})
	if err != nil {
		return -1, -1, err
	}
	return int(f), int(l), nil
}

func (c *Context) onMemory(what string, call func(e *C.ps_error) C.int32_t) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	if code := call(&c.err); code != C.PS_OK {
		return fmt.Errorf("%s: %w", what, failure(code, &c.err))
	}
	return nil
}

// Adapter is a LoRA adapter, loaded for one model. It is safe for concurrent use.
type Adapter struct{ object }

// ScaledAdapter is an adapter and how strongly it counts: 1 is as it was trained.
type ScaledAdapter struct {
	Adapter *Adapter
	Scale   float32
}

// LoadAdapter loads a LoRA adapter for m, which may be closed before it. llama.cpp aborts the
// process on some damaged files: check an unknown file first, as package host/model does. Passes
// that follow a change of adapters wait until it is loaded.
func LoadAdapter(m *Model, path string) (*Adapter, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("adapter: model %w", err)
	}
	defer m.leave()
	cpath := C.CString(path)
	defer freeString(cpath)
	var e C.ps_error
	var c *C.ps_adapter
	if err := failure(C.ps_adapter_load(m.c(), cpath, &c, &e), &e); err != nil {
		return nil, fmt.Errorf("load adapter %s: %w", path, err)
	}
	a := &Adapter{}
	a.own(unsafe.Pointer(c), m, func() { C.ps_adapter_free(c) })
	return a, nil
}

// SetAdapters sets the adapters of the passes from the next one on, which plans its graphs anew.
// They may be closed meanwhile: the context keeps them until others are set. A closed adapter is
// ErrClosed.
func (c *Context) SetAdapters(adapters []ScaledAdapter) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	kept := &keptAdapters{}
	pointers, scales := make([]*C.ps_adapter, len(adapters)), make([]C.float, len(adapters))
	for i, a := range adapters {
		if err := a.Adapter.enter(); err != nil {
			kept.drop()
			return fmt.Errorf("adapter %w", err)
		}
		a.Adapter.h.keep()
		a.Adapter.leave()
		kept.handles = append(kept.handles, a.Adapter.h)
		pointers[i], scales[i] = (*C.ps_adapter)(a.Adapter.h.c), C.float(a.Scale)
	}
	code := C.ps_context_set_adapters(c.c(), unsafe.SliceData(pointers), unsafe.SliceData(scales), C.size_t(len(adapters)), &c.err)
	if code != C.PS_OK {
		kept.drop()
		return fmt.Errorf("set adapters: %w", failure(code, &c.err))
	}
	kept.handles, c.adapters.handles = c.adapters.handles, kept.handles
	kept.drop()
	return nil
}

// SetControlVector has each layer from first to last add a row of values, as many as
// ModelInfo.Embedding, to what it gives on; the rows begin with layer 1's. Without values there is
// no control vector any more. Passes plan their graphs anew.
func (c *Context) SetControlVector(values []float32, first, last int) error {
	if err := c.enterAlone(); err != nil {
		return err
	}
	defer c.leaveAlone()
	code := C.ps_context_set_control_vector(c.c(), (*C.float)(unsafe.SliceData(values)), C.size_t(len(values)), C.int32_t(first), C.int32_t(last), &c.err)
	if code != C.PS_OK {
		return fmt.Errorf("set control vector: %w", failure(code, &c.err))
	}
	return nil
}

// keptAdapters are the adapters that a context uses.
type keptAdapters struct{ handles []*handle }

func (k *keptAdapters) drop() {
	for _, h := range k.handles {
		h.drop()
	}
	k.handles = nil
}
