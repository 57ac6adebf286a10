// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"
	"sync"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// poll is how long llama.cpp's idle workers spin for the next graph, 0..100. One step is 131,072 pauses, some
// milliseconds: between two passes that core is for sampling and plugins, so they sleep at once.
const poll = 0

// mixedChunk is how many prompt tokens share a pass with decode tokens on the CPU. llama.cpp's attention has a faster
// kernel from 64 rows on; strangers among them slow it down by more than the weights cost that are read once more.
const mixedChunk = 63

// mixedChunkHere is scheduler.Limits.MixedChunk of this machine: on a GPU one pass is always best.
func mixedChunkHere() int {
	devices, err := native.Devices()
	if err != nil {
		return 0
	}
	for _, d := range devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			return 0
		}
	}
	return mixedChunk
}

// backend is scheduler.Backend over a native context. The forward pass runs on a goroutine of its own, so that the
// tick can do other work between Start and Wait.
type backend struct {
	context *native.Context
	model   *native.Model
	limits  scheduler.Limits
	window  int
	cuts    bool    // the memory can drop a part of a sequence
	ends    []int32 // end-of-generation tokens

	batches chan *scheduler.Batch
	results chan error    // holds one, so that a pass nobody waits for can end
	closing chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed by it
	once    sync.Once
	columns native.Batch
}

func newBackend(c *native.Context, info native.ModelInfo, l native.Limits) *backend {
	b := &backend{
		context: c,
		model:   c.Model(),
		limits: scheduler.Limits{
			Vocabulary: info.Vocabulary, Cells: l.Cells, Context: l.Positions, Batch: l.Batch, Sequences: l.Sequences, Rows: l.Rows,
			MixedChunk: mixedChunkHere(),
		},
		window:  info.Window,
		cuts:    !info.Recurrent && !info.Hybrid,
		batches: make(chan *scheduler.Batch),
		results: make(chan error, 1),
		closing: make(chan struct{}),
		ended:   make(chan struct{}),
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
			b.columns = native.Batch{
				Tokens: batch.Tokens, Positions: batch.Positions, Sequences: batch.Sequences, Outputs: batch.Outputs,
			}
			b.results <- b.context.Decode(&b.columns)
		}
	}
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
func (b *backend) Row(i int) []float32 { return b.context.Row(i) }

// Piece implements scheduler.Vocabulary.
func (b *backend) Piece(t scheduler.Token) string { return b.model.Piece(t) }

// EndOfGeneration implements scheduler.Vocabulary.
func (b *backend) EndOfGeneration(t scheduler.Token) bool { return b.model.EndOfGeneration(t) }
