// SPDX-License-Identifier: MIT

// Package schedulertest is a model without arithmetic for the scheduler's tests: deterministic, on
// virtual time, and strict. What a real backend would get wrong silently, a position out of order
// or a cell too many, it reports.
package schedulertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// Backend computes "logits" from the tokens a sequence holds: after a history the next token is a
// fixed function of it, so any mistake in what the KV cache holds changes the text.
type Backend struct {
	limits scheduler.Limits
	memory

	// Pieces has those that may stand in prompts. NewPiece makes them.
	Pieces *piece.Table

	// Cost is how long a pass takes on the virtual clock, by its tokens and the cells they attend
	// to; nil: no time.
	Cost func(tokens, cells int) time.Duration
	// Device, if set, says it in place of Cost.
	Device *Device
	// Replan is how much longer a pass takes whose tokens or rows are not as many as those of the
	// pass before: llama.cpp then plans its graph anew.
	Replan time.Duration
	// CopyCost is how long it takes to copy a cell.
	CopyCost time.Duration
	// Fail, if set, is asked before each pass; an error fails it with part of the batch in the
	// cache, as llama.cpp may.
	Fail func(b *scheduler.Batch) error
	// Sharing and Cutting switch off what some caches cannot do.
	NoSharing, NoCutting bool
	// Recurrent has it keep one state for all that a sequence has read. Window is how far back a
	// token looks, if not to the beginning; a sequence holds Slack positions more of it.
	Recurrent bool
	// Snapshots has a recurrent one keep the states before as many tokens of the last pass; drafts
	// must then be of one length.
	Snapshots     int
	Window, Slack int
	// CheckpointCost is how long it takes to take a checkpoint.
	CheckpointCost time.Duration
	// FailRestore makes it fail to put a state back.
	FailRestore bool
	// End makes Next answer with an end-of-generation token after that many tokens of a sequence; 0:
	// never.
	End int

	now     time.Time
	batch   *scheduler.Batch
	shape   [2]int   // tokens and rows of the last pass
	rows    []uint64 // the history hash of each output row
	logits  [][]float32
	Passes  int // forward passes so far
	Tokens  int // tokens computed so far
	Largest int // most tokens in one pass

	Checkpoints int // taken so far
}

// EndToken is the vocabulary's only end-of-generation token.
const EndToken scheduler.Token = 0

// New makes a backend. Zero limits get small defaults.
func New(l scheduler.Limits) *Backend {
	for field, value := range map[*int]int{&l.Vocabulary: 256, &l.Cells: 4096, &l.Context: l.Cells, &l.Batch: 512, &l.Sequences: 16, &l.Rows: 256} {
		if *field == 0 {
			*field = value
		}
	}
	if l.Context == 0 {
		l.Context = l.Cells
	}
	return &Backend{limits: l, Pieces: piece.NewTable(), memory: newMemory(l), now: time.Unix(0, 0), logits: make([][]float32, l.Rows)}
}

// Limits implements scheduler.Backend.
func (b *Backend) Limits() scheduler.Limits {
	l := b.limits
	l.Drafts = !b.NoCutting && (!b.Recurrent || b.Snapshots > 0)
	if b.Recurrent {
		l.AlikeDrafts, l.MostDrafted = true, b.Snapshots
	}
	return l
}

// Table is Pieces.
func (b *Backend) Table() *piece.Table { return b.Pieces }

// Now is the virtual time; only passes and Advance move it.
func (b *Backend) Now() time.Time { return b.now }

// Advance moves the virtual time.
func (b *Backend) Advance(d time.Duration) { b.now = b.now.Add(d) }

// Used is the number of cells in use, shared ones once.
func (b *Backend) Used() int { return b.limits.Cells - len(b.free) }

// Start implements scheduler.Backend.
func (b *Backend) Start(batch *scheduler.Batch) error {
	b.batch = batch
	return nil
}

// Wait implements scheduler.Backend.
func (b *Backend) Wait() error {
	n := b.batch.Len()
	if n == 0 || n > b.limits.Batch || b.batch.Rows() > b.limits.Rows {
		return fmt.Errorf("a pass of %d tokens and %d rows, the limits are %d and %d", n, b.batch.Rows(), b.limits.Batch, b.limits.Rows)
	}
	if err := checkBatch(b.batch); err != nil {
		return err
	}
	if err := b.noteRows(); err != nil {
		return err
	}
	b.Passes++
	b.Tokens += n
	b.Largest = max(b.Largest, n)
	if b.Device != nil {
		b.Advance(b.Device.Cost(b.batch))
	} else if b.Cost != nil {
		cells := 0
		for _, at := range b.batch.Positions {
			cells += int(at)
		}
		b.Advance(b.Cost(n, cells))
	}
	if shape := [2]int{n, b.batch.Rows()}; shape != b.shape {
		b.shape = shape
		b.Advance(b.Replan)
	}
	if n > len(b.free) {
		return scheduler.ErrNoCells
	}
	if b.Fail != nil {
		if err := b.Fail(b.batch); err != nil {
			_ = b.store(n / 2) // the pass has failed already
			return err
		}
	}
	return b.store(n)
}

// store puts the first n tokens of the batch into the cache.
func (b *Backend) store(n int) error {
	b.rows = b.rows[:0]
	for i := range n {
		seq, at := b.batch.Sequences[i], b.batch.Positions[i]
		if int(seq) >= len(b.seqs) || len(b.seqs[seq]) >= b.limits.Context {
			return fmt.Errorf("token %d of the pass is at position %d of sequence %d", i, at, seq)
		}
		where := spotOf(b.batch, i)
		if err := b.follows(seq, at, where); err != nil {
			return fmt.Errorf("token %d of the pass: %w", i, err)
		}
		if seq == b.copy.target {
			b.force()
		}
		word := uint64(b.batch.Tokens[i])
		if p := b.batch.Piece; p != nil {
			word = wordOf(p.Values[(b.batch.FirstRow+i)*width])
		}
		b.hold(seq, b.hash(seq, word, b.batch.Adapters), where)
		if b.batch.Outputs[i] {
			b.rows = append(b.rows, b.lastHash(seq))
		}
	}
	return nil
}

// hash extends the hash of a sequence by a token that adapters compute.
func (b *Backend) hash(seq int32, word uint64, a scheduler.Adapters) uint64 {
	h := beginning
	if n := len(b.seqs[seq]); n > 0 {
		h = b.data[seq][n-1]
	}
	return extend(h, word, a)
}

// beginning is the hash of no tokens.
const beginning uint64 = 14695981039346656037

func extend(h, word uint64, a scheduler.Adapters) uint64 {
	const prime = 1099511628211
	if a != nil {
		for _, c := range []byte(a.Key()) {
			h = (h ^ uint64(c) ^ 1<<20) * prime
		}
	}
	return (h ^ word) * prime
}

func (b *Backend) lastHash(seq int32) uint64 {
	n := len(b.seqs[seq])
	if b.End > 0 && n >= b.End {
		return 0
	}
	return b.data[seq][n-1] | 1<<63
}

// next is the token after a history.
func (b *Backend) next(h uint64) scheduler.Token {
	if h == 0 {
		return EndToken
	}
	return scheduler.Token(1 + (h>>17)%uint64(b.limits.Vocabulary-1))
}

// MaskRow implements chain.Masker.
func (b *Backend) MaskRow(to, row []float32, allowed []uint32) { chain.MaskRow(to, row, allowed) }

// Row implements scheduler.Backend: the next token has the highest logit.
func (b *Backend) Row(i int) []float32 {
	if b.logits[i] == nil {
		b.logits[i] = make([]float32, b.limits.Vocabulary)
	}
	row := b.logits[i]
	clear(row)
	row[b.next(b.rows[i])] = 10
	return row
}

// HiddenState implements scheduler.Backend: its numbers are all the next token's, and the layer's
// more, where the pass was asked for them.
func (b *Backend) HiddenState(layer int32, i int) []float32 {
	if !slices.Contains(b.batch.HiddenStates, layer) || b.limits.HiddenState == 0 || i < 0 || i >= len(b.rows) {
		return nil
	}
	state := make([]float32, b.limits.HiddenState)
	for k := range state {
		state[k] = float32(b.next(b.rows[i]) + layer)
	}
	return state
}

// SampleRows implements scheduler.Backend: greedy.
func (b *Backend) SampleRows(draws []scheduler.Draw) {
	for i := range draws {
		draws[i].Token = b.next(b.rows[draws[i].Row])
	}
}

// texts are made when they are asked for: many processes of tests are children that ask for none.
var texts = sync.OnceValue(func() *[1 << 16]string {
	var p [1 << 16]string
	for i := range p {
		p[i] = " " + strconv.Itoa(i)
	}
	return &p
})

// Piece implements scheduler.Backend: a space and the token's number.
func (b *Backend) Piece(t scheduler.Token) string { return texts()[t] }

// ControlText implements scheduler.Backend: the token's number in angle brackets.
func (b *Backend) ControlText(t scheduler.Token) string { return fmt.Sprintf("<%d>", t) }

// EndOfGeneration implements scheduler.Backend.
func (b *Backend) EndOfGeneration(t scheduler.Token) bool { return t == EndToken }

// Greedy is a native stage without state.
type Greedy struct{}

// Traits implements chain.Stage.
func (Greedy) Traits() chain.Traits { return chain.Traits{} }

// Native implements chain.Stage.
func (Greedy) Native() bool { return true }

// Apply implements chain.Stage: the highest logit.
func (Greedy) Apply(v *chain.View) error {
	best := 0
	for i, l := range v.Row {
		if l > v.Row[best] {
			best = i
		}
	}
	v.Chosen = scheduler.Token(best)
	return nil
}

// Accept implements chain.Stage.
func (Greedy) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// Reset implements chain.Stage.
func (Greedy) Reset([]scheduler.Token, int) error { return nil }

// Close implements chain.Stage.
func (Greedy) Close() error { return nil }

// Sampled is Greedy at the end of a chain with other stages: it chooses from what they left.
type Sampled struct{ Greedy }

// Native implements chain.Stage.
func (Sampled) Native() bool { return false }

// Apply implements chain.Stage. A row without a highest logit is an error.
func (Sampled) Apply(v *chain.View) error {
	best := -1
	for i, l := range v.Row {
		if !math.IsNaN(float64(l)) && !math.IsInf(float64(l), -1) && (best < 0 || l > v.Row[best]) {
			best = i
		}
	}
	if best < 0 {
		return errors.New("the row has no highest logit")
	}
	v.Chosen = scheduler.Token(best)
	return nil
}

// After tells for each token of a history from position from on what the model says there, given
// those before it and the adapters of the request.
func (b *Backend) After(history []scheduler.Token, from int, r scheduler.Request) []scheduler.Token {
	var said []scheduler.Token
	h := beginning
	for i, t := range history {
		switch {
		case i < from:
		case b.End > 0 && i >= b.End:
			said = append(said, EndToken)
		default:
			said = append(said, b.next(h|1<<63))
		}
		h = extend(h, b.word(t), with(r, i))
	}
	return said
}

// GoesOn tells what the model says after a history, n tokens, without adapters.
func (b *Backend) GoesOn(history []scheduler.Token, n int) []scheduler.Token {
	h := beginning
	for _, t := range history {
		h = extend(h, b.word(t), nil)
	}
	said := make([]scheduler.Token, n)
	for i := range said {
		if said[i] = EndToken; b.End == 0 || len(history)+i < b.End {
			said[i] = b.next(h | 1<<63)
		}
		h = extend(h, uint64(said[i]), nil)
	}
	return said
}

// Adapters are a set of that name: the model says other things with them.
type Adapters string

// Key implements scheduler.Adapters.
func (a Adapters) Key() string { return string(a) }

// with is what computes the token at a position of a request's answer.
func with(r scheduler.Request, position int) scheduler.Adapters {
	if position < r.AdaptersFrom {
		return nil
	}
	return r.Adapters
}

// Machine is a Backend with processors beside it, in a bubble of testing/synctest: a pass takes its
// cost of the bubble's time, and so do draws and plugins, which share the processors.
type Machine struct {
	*Backend
	Draw      time.Duration // of a native chain
	Computing time.Duration // that passes have taken so far

	processors chan struct{}
}

// NewMachine makes one with some processors.
func NewMachine(b *Backend, processors int) *Machine {
	return &Machine{Backend: b, processors: make(chan struct{}, processors)}
}

// Now is the bubble's time.
func (m *Machine) Now() time.Time { return time.Now() }

// Wait implements scheduler.Backend.
func (m *Machine) Wait() error {
	before := m.Backend.Now()
	err := m.Backend.Wait()
	cost := m.Backend.Now().Sub(before)
	m.Computing += cost
	time.Sleep(cost)
	return err
}

// SampleRows implements scheduler.Backend: the processors draw beside each other.
func (m *Machine) SampleRows(draws []scheduler.Draw) {
	m.Backend.SampleRows(draws)
	rounds := (len(draws) + cap(m.processors) - 1) / cap(m.processors)
	time.Sleep(time.Duration(rounds) * m.Draw)
}

// Work takes a processor for some time.
func (m *Machine) Work(d time.Duration) {
	m.processors <- struct{}{}
	time.Sleep(d)
	<-m.processors
}

// Measured is the cost of a pass by its number of tokens, as llama.cpp had it for a 135M Llama on
// two cores with four generating sequences beside one that prefills (milliseconds, medians).
var Measured = Curve{{1, 6}, {4, 20.7}, {20, 55}, {36, 107}, {68, 199}, {132, 321}, {260, 606}, {516, 1000}, {2064, 4000}}

// Curve gives milliseconds at some token counts; between them it is linear.
type Curve [][2]float64

// Cost is the time of a pass of n tokens, whatever they attend to.
func (c Curve) Cost(n, _ int) time.Duration {
	x := float64(n)
	last := c[len(c)-1]
	ms := last[1] / last[0] * x
	for i := 1; i < len(c); i++ {
		if a, b := c[i-1], c[i]; x <= b[0] {
			ms = a[1] + (b[1]-a[1])*(x-a[0])/(b[0]-a[0])
			break
		}
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// Deep is the cost of a pass with flash attention on another machine, where what a token attends
// to matters: much in passes below 64 tokens, less above, which have another kernel.
func Deep(n, cells int) time.Duration {
	flat := Curve{{1, 7}, {4, 26}, {8, 32}, {20, 57}, {36, 88}, {64, 115}, {128, 222}, {512, 1080}}.Cost(n, 0)
	cell := 5.7 * float64(time.Microsecond)
	if n >= 64 {
		cell = 1.7 * float64(time.Microsecond)
	}
	return flat + time.Duration(cell*float64(cells))
}

// Device is what a pass costs where arithmetic is plenty and memory is slow, as on GPUs: weights
// are read once for all tokens of the pass, and meanwhile tokens are computed for nothing until
// arithmetic takes longer (the roofline model). The cells of a sequence are read once for all its
// tokens, and each token attends to each of them.
type Device struct {
	Launch  time.Duration // of the kernels of a pass
	Weights time.Duration // to read them
	Token   time.Duration // to compute one
	Read    time.Duration // of a cell
	Attend  time.Duration // a token to a cell
}

// Devices for models of Llama 3 in 16 bits, by the published figures of model and GPU: 8.0 and
// 70.6 billion parameters, 128 and 320 KiB for a cell; a memory of 3.35 TB/s used to 80%, 989
// TFLOP/s used to 45%. The larger model is on four GPUs, whose exchange makes a pass of 80 layers
// 3 ms longer.
var (
	H100With8B   = Device{time.Millisecond, 6000 * time.Microsecond, 36 * time.Microsecond, 49 * time.Nanosecond, 1 * time.Nanosecond}
	H100sWith70B = Device{4 * time.Millisecond, 13200 * time.Microsecond, 79 * time.Microsecond, 30 * time.Nanosecond, 2 * time.Nanosecond}
)

// Cost is the time of a pass over a batch.
func (d *Device) Cost(b *scheduler.Batch) time.Duration {
	cost := d.Launch + max(d.Weights, time.Duration(b.Len())*d.Token)
	for i, at := range b.Positions {
		cost += time.Duration(at) * d.Attend
		if i+1 == b.Len() || b.Sequences[i+1] != b.Sequences[i] { // the last of its sequence attends to all of it
			cost += time.Duration(at) * d.Read
		}
	}
	return cost
}

// Events ranges over the events of an answer up to and including End, or until the context is done.
func Events(ctx context.Context, st *scheduler.Stream) iter.Seq[scheduler.Event] {
	return func(yield func(scheduler.Event) bool) {
		for {
			e, err := st.Next(ctx)
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// Nearest is a Backend that places a request next to a running one.
type Nearest struct{ *Backend }

// Place implements kvcache.Placer.
func (Nearest) Place(_ int, running []kvcache.RunningSequence, idle []kvcache.IdleSequence) int32 {
	distance := func(i kvcache.IdleSequence) int32 {
		nearest := slices.MinFunc(running, func(a, b kvcache.RunningSequence) int {
			return int(max(a.Sequence-i.Sequence, i.Sequence-a.Sequence) - max(b.Sequence-i.Sequence, i.Sequence-b.Sequence))
		}).Sequence
		return max(nearest-i.Sequence, i.Sequence-nearest)
	}
	return slices.MinFunc(idle, func(a, b kvcache.IdleSequence) int { return int(distance(a) - distance(b)) }).Sequence
}
