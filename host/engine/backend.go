// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
	if o.Workers != nil {
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
	context *native.Context
	model   *native.Model
	limits  scheduler.Limits
	ends    []int32 // end-of-generation tokens
	passing
	sequences
	padder padder
	passes piecewise
	lacks  Lacks
	head   *native.Head // nil: none

	adapters string // key of those that the context computes with

	workers Workers // see Options
}

// passing is the goroutine that computes passes, one at a time.
type passing struct {
	batches chan *scheduler.Batch
	results chan error    // holds one, so that a pass nobody waits for can end
	closing chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed by it
	once    sync.Once
}

// sequences is what the context's memory can do with sequences, and what is known of each.
type sequences struct {
	window      int
	unified     bool // all share the cells
	cuts        bool // a part of one can be dropped
	checkpoints bool // the part that cannot be dropped can be copied
	recurrent   rollback

	// By sequence: it was restored from a state that just fills the window, whose first cell was
	// free for others while it was copied.
	stale   []bool
	borders []border // by sequence
	grids   bool     // pictures with coordinates were seen
}

// newBackend makes a backend of a context, whose tokens are the text's.
func newBackend(text *native.Model, c *native.Context, info native.ModelInfo, l native.Limits, o Options) *backend {
	recurrent, unified, lacks := info.Recurrent || info.Hybrid, o.Shared(info), o.Lacks
	b := &backend{
		context: c,
		model:   text,
		limits: scheduler.Limits{
			Vocabulary: info.Vocabulary, Cells: l.Cells, Context: l.Positions, Batch: l.Batch, Sequences: l.Sequences, Rows: l.Rows,
			HiddenState:    l.HiddenState,
			SeparatePasses: !unified, // llama.cpp computes a mixed pass over cells of their own in parts, too
			Drafts:         o.dropsGuesses(info, l.Snapshots),
			AlikeDrafts:    recurrent, MostDrafted: l.Snapshots,
		},
		passing: passing{
			batches: make(chan *scheduler.Batch), results: make(chan error, 1), closing: make(chan struct{}), ended: make(chan struct{}),
		},
		sequences: sequences{
			unified: unified, window: info.Window, cuts: !lacks.Truncating && !recurrent,
			recurrent: newRollback(l.Sequences, l.Snapshots), stale: make([]bool, l.Sequences), borders: make([]border, l.Sequences),
		},
		padder:  padder{together: c.Model().TokensAtOnce()},
		passes:  piecewise{bySequence: lacks.Together, byOutput: lacks.Selecting, n: info.Vocabulary},
		lacks:   lacks,
		workers: o.Workers,
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
	if err == nil {
		b.headFollow()
	}
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
	if b.workers == nil {
		return nil
	}
	if err := b.workers.Lost(); err != nil {
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
	if b.head != nil {
		b.head.Abort()
	}
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
func (b *backend) HiddenState(layer int32, i int) []float32 {
	if b.passes.needed() || i < 0 || i >= len(b.padder.rows) {
		return nil
	}
	return b.context.HiddenState(layer, b.padder.rows[i])
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

// parallelLogits is how many logits a tick must have to sample before more goroutines pay for
// themselves.
const parallelLogits = 1 << 14

// banned is the logit of a token that is never drawn.
var banned = float32(math.Inf(-1))

// SampleRows implements scheduler.Backend.
func (b *backend) SampleRows(draws []scheduler.Draw) {
	goroutines := min(len(draws), runtime.GOMAXPROCS(0))
	if len(draws)*b.limits.Vocabulary < parallelLogits {
		goroutines = 1
	}
	if goroutines <= 1 {
		for i := range draws {
			b.sample(&draws[i])
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(draws)); i = next.Add(1) - 1 {
			b.sample(&draws[i])
		}
	}
	for range goroutines - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// sample draws one row. It may run on a goroutine of its own, whose panic nobody else could catch.
func (b *backend) sample(d *scheduler.Draw) {
	defer func() {
		if err := panics.Recovered(recover()); err != nil {
			d.Token, d.Err = -1, err
		}
	}()
	stage, ok := d.Stage.(*Stage)
	if !ok {
		d.Token, d.Err = -1, fmt.Errorf("sample row %d: a stage of type %T is not this engine's", d.Row, d.Stage)
		return
	}
	d.Token, d.Err = stage.sampleSoon(b.Row(d.Row))
}

// Lacks are what llama.cpp cannot do with the model; package model finds it out.
type Lacks struct {
	Together   bool // compute several sequences in one pass
	Selecting  bool // give the logits of some tokens of a pass only
	Truncating bool // drop the end of a sequence
	Sharing    bool // begin a sequence as another
	Saving     bool // put the state of a sequence away and back
	Heads      bool // guess with its head
}

// piecewise runs a pass as several if the model cannot take it whole. Each overwrites the logits
// of the one before, so they are copied.
type piecewise struct {
	bySequence bool // one sequence at a time
	byOutput   bool // tokens whose logits are wanted and others one after the other

	piece native.Batch // a piece of the scheduler's columns
	rows  []float32    // of all pieces
	n     int          // length of a row
}

func (p *piecewise) needed() bool { return p.bySequence || p.byOutput }

// decode runs the passes. After an error some may have been computed; the scheduler cleans up what
// it did not expect.
func (p *piecewise) decode(c *native.Context, b *scheduler.Batch) error {
	p.rows = p.rows[:0]
	for from := 0; from < b.Len(); {
		to := p.end(b, from)
		p.piece = native.Batch{Tokens: b.Tokens[from:to], Positions: b.Positions[from:to], Sequences: b.Sequences[from:to], Outputs: b.Outputs[from:to]}
		if err := c.Decode(&p.piece); err != nil {
			return err
		}
		for i := range c.Rows() {
			p.rows = append(p.rows, c.Row(i)...)
		}
		from = to
	}
	return nil
}

// end is where the piece that begins at a token ends.
func (p *piecewise) end(b *scheduler.Batch, from int) int {
	to := from + 1
	for to < b.Len() && (!p.bySequence || b.Sequences[to] == b.Sequences[from]) && (!p.byOutput || b.Outputs[to] == b.Outputs[from]) {
		to++
	}
	return to
}

// row is a view of row i of the last pass, nil if there is none.
func (p *piecewise) row(i int) []float32 {
	if i < 0 || (i+1)*p.n > len(p.rows) {
		return nil
	}
	return p.rows[i*p.n : (i+1)*p.n : (i+1)*p.n]
}
