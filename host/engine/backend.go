// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/program"
)

// poll is how long llama.cpp's idle threads spin for the next graph, 0..100. One step is 131,072
// pauses, some milliseconds: between two passes that core is for sampling and plugins, so they
// sleep at once.
const poll = 0

// onGPU reports whether a GPU computes, or devices of other machines, which are as far away.
func (o Options) onGPU() bool {
	if o.Lost != nil {
		return true
	}
	if o.GPULayers == 0 && len(o.Model.Devices) == 0 {
		return false
	}
	devices, err := native.Devices()
	return err == nil && slices.ContainsFunc(devices, func(d native.Device) bool {
		return (d.Kind == "gpu" || d.Kind == "igpu") && (len(o.Model.Devices) == 0 || slices.Contains(o.Model.Devices, d.Name))
	})
}

// backend is scheduler.Backend over a native context. The forward pass runs on a goroutine of its
// own, so that the tick can do other work between Start and Wait.
type backend struct {
	context     *native.Context
	model       *native.Model
	limits      scheduler.Limits
	window      int
	unified     bool    // all sequences share the cells
	cuts        bool    // the memory can drop a part of a sequence
	checkpoints bool    // the part that it cannot drop can be copied
	ends        []int32 // end-of-generation tokens

	batches chan *scheduler.Batch
	results chan error    // holds one, so that a pass nobody waits for can end
	closing chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed by it
	once    sync.Once
	padder  padder
	passes  piecewise
	lacks   Lacks

	adapters string // key of those that the context computes with

	recurrent rollback

	// By sequence: it was restored from a state that just fills the window, whose first cell was
	// free for others while it was copied.
	stale   []bool
	borders []border // by sequence
	grids   bool     // pictures with coordinates were seen

	lost func() error // see Options
}

// newBackend makes a backend of a context, whose tokens are the text's.
func newBackend(text *native.Model, c *native.Context, info native.ModelInfo, l native.Limits, o Options) *backend {
	recurrent, unified, gpu, lacks := info.Recurrent || info.Hybrid, o.Shared(info), o.onGPU(), o.Lacks
	b := &backend{
		context: c,
		model:   text,
		limits: scheduler.Limits{
			Vocabulary: info.Vocabulary, Cells: l.Cells, Context: l.Positions, Batch: l.Batch, Sequences: l.Sequences, Rows: l.Rows,
			HiddenState:    l.HiddenState,
			SeparatePasses: !gpu && !unified,
			Drafts:         (recurrent && l.Snapshots > 0 || !recurrent && !lacks.Truncating) && !lacks.Together && !lacks.Selecting,
			AlikeDrafts:    recurrent, MostDrafted: l.Snapshots,
		},
		unified: unified,
		window:  info.Window,
		cuts:    !lacks.Truncating && !recurrent,
		batches: make(chan *scheduler.Batch),
		results: make(chan error, 1),
		closing: make(chan struct{}),
		padder:  padder{together: c.Model().TokensAtOnce()},
		passes:  piecewise{bySequence: lacks.Together, byOutput: lacks.Selecting, n: info.Vocabulary},
		lacks:   lacks,
		ended:   make(chan struct{}),

		recurrent: newRollback(l.Sequences, l.Snapshots),
		stale:     make([]bool, l.Sequences),
		borders:   make([]border, l.Sequences),
		lost:      o.Lost,
	}
	if b.passes.needed() { // each piece overwrites the states of the one before
		b.limits.HiddenState = 0
	}
	for t := range int32(info.Vocabulary) {
		if b.model.EndOfGeneration(t) {
			b.ends = append(b.ends, t)
		}
	}
	go b.run()
	return b
}

func (b *backend) run() {
	defer close(b.ended)
	for {
		select {
		case <-b.closing:
			return
		case batch := <-b.batches:
			b.results <- b.decode(batch)
		}
	}
}

// decode runs a batch. It has the backend's own goroutine, whose panic nobody else could catch.
func (b *backend) decode(batch *scheduler.Batch) (err error) {
	defer func() {
		err = errors.Join(err, panics.Recovered(recover()))
	}()
	if err := b.useAdapters(batch.Adapters); err != nil {
		return err
	}
	switch {
	case batch.Piece != nil:
		return b.perceive(batch)
	case b.passes.needed():
		return b.passes.decode(b.context, batch)
	case b.unified:
		b.padder.take(batch)
	default:
		b.padder.pad(batch, b.limits.Sequences, b.limits.Context, b.length)
	}
	b.padder.batch.HiddenStates = batch.HiddenStates
	b.padder.batch.DuringCopy = !slices.Contains(batch.Sequences, b.context.CopyTarget()) // padding there does no harm: it is removed
	err = b.context.Decode(b.padder.batch)
	b.recurrent.note(b.padder.batch.Sequences, err)
	for _, p := range b.padder.added {
		err = errors.Join(err, b.context.Remove(p.sequence, p.position, -1))
	}
	return b.unlessLost(err)
}

// unlessLost is how a pass ended.
func (b *backend) unlessLost(err error) error {
	if lost := b.Lost(); lost != nil { // what was computed is nothing
		return lost
	}
	return err
}

// Lost implements scheduler.Losable.
func (b *backend) Lost() error {
	if b.lost == nil {
		return nil
	}
	if err := b.lost(); err != nil {
		return asLost{err}
	}
	return nil
}

// length is how many positions a sequence has.
func (b *backend) length(seq int32) int {
	_, n := b.held(seq)
	return n
}

// close ends the goroutine, and the pass it runs.
func (b *backend) close() {
	b.once.Do(func() { close(b.closing) })
	b.context.Abort()
	<-b.ended
}

// Limits implements scheduler.Backend.
func (b *backend) Limits() scheduler.Limits { return b.limits }

// Start implements scheduler.Backend.
func (b *backend) Start(batch *scheduler.Batch) error {
	if batch.Len() == 0 || batch.Len() > b.limits.Batch || batch.Rows() > b.limits.Rows {
		return fmt.Errorf("a batch of %d tokens and %d rows; the context takes %d and %d",
			batch.Len(), batch.Rows(), b.limits.Batch, b.limits.Rows)
	}
	if err := checkPiece(batch); err != nil {
		return err
	}
	select {
	case b.batches <- batch:
		return nil
	case <-b.ended:
		return native.ErrClosed
	}
}

// Wait implements scheduler.Backend.
func (b *backend) Wait() error {
	err := <-b.results
	if errors.Is(err, native.ErrNoCells) {
		return errors.Join(scheduler.ErrNoCells, err)
	}
	return err
}

// Row implements scheduler.Backend.
func (b *backend) Row(i int) []float32 {
	if b.passes.needed() {
		return b.passes.row(i)
	}
	if i < 0 || i >= len(b.padder.rows) {
		return nil
	}
	return b.context.Row(b.padder.rows[i])
}

// HiddenState implements scheduler.Backend.
func (b *backend) HiddenState(i int) []float32 {
	if b.passes.needed() || i < 0 || i >= len(b.padder.rows) {
		return nil
	}
	return b.context.HiddenState(b.padder.rows[i])
}

// Summarize implements program.Summarizer.
func (b *backend) Summarize(row []float32, ids []int32, logits []float32) program.Summary {
	n := native.TopLogits(row, ids, logits)
	s := program.Summary{IDs: ids[:n], Logits: logits[:n]}
	s.LogSum, s.Entropy = native.Distribution(row)
	return s
}

// MaskRow implements chain.Masker.
func (b *backend) MaskRow(to, row []float32, allowed []uint32) { native.MaskRow(to, row, allowed) }

// Piece implements answer.Vocabulary.
func (b *backend) Piece(t scheduler.Token) string { return b.model.Piece(t) }

// ControlText implements answer.Vocabulary.
func (b *backend) ControlText(t scheduler.Token) string { return b.model.SpecialPiece(t) }

// EndOfGeneration implements answer.Vocabulary.
func (b *backend) EndOfGeneration(t scheduler.Token) bool { return b.model.EndOfGeneration(t) }
