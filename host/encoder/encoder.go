// SPDX-License-Identifier: MIT

// Package encoder turns pictures and sounds into embeddings, beside the scheduler's passes.
//
// # Notes
//
//   - A model has one encoder goroutine, so that pictures wait for pictures and not for texts.
//   - Clients take turns by what was encoded for them, so that one with a hundred pictures delays
//     nobody who has one.
//   - Embeddings are kept by the content of a file, up to a bound in bytes, and shared by all
//     requests with the same cache scope, wherever the picture stands in a prompt. Those who ask
//     for it while it is encoded wait for that.
//   - What nobody waits for any more is not encoded: it leaves the queue, or stops within a layer
//     of the encoder.
package encoder

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/penstock/penstock/host/pausing"
	"github.com/penstock/penstock/host/turns"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/portion"
)

// The errors of Encode besides those of a request's Decode and of package native.
var (
	ErrClosed = errors.New("the encoder is closed")
	ErrFull   = errors.New("too many pictures and sounds are waiting")
	ErrShare  = errors.New("as many pictures and sounds of one client are waiting as may be")
)

// Media is a decoded picture or sound.
type Media struct {
	Width, Height int
	RGB           []byte    // three bytes a pixel, row by row from the top left; nil: a sound
	Samples       []float32 // mono, at the projector's rate, from -1 to 1
}

// Source is a picture or a sound to be encoded.
type Source struct {
	Hash   [sha256.Size]byte // of the file, and of whatever else decides what Decode gives
	Scope  string            // requests of one scope share embeddings
	Client string            // who takes turns with others
	// Decode is called on the encoder's goroutine when the request's turn has come, and once for
	// all that wait for the same. Its context is done when nobody waits any more. All waiting
	// requests get its error.
	Decode func(ctx context.Context) (Media, error)
	// Piece is given each piece as soon as it is there, before Encode returns all. Where that has
	// ended with its context, and others wait for the same, it is still called. It must be quick.
	// Nil: nobody is told.
	Piece func(Piece)
}

// Piece is what stands in a prompt: tokens, or embeddings with their numbers. Several requests may
// read it.
type Piece struct {
	native.Piece
	Values []float32 // of the embeddings, row by row; nil: tokens
}

// QueueOptions bound an encoder.
type QueueOptions struct {
	CacheBytes int64 // of embeddings that are kept; 0: none
	Queue      int   // pictures and sounds that may wait; what is asked for already counts once
	// Gate are shared with all that computes on the same processors, whose ticks have them for
	// themselves; nil: the projector computes elsewhere, or all else does.
	Gate *pausing.Gate
}

// Encoder encodes for one model. Its methods may be called from any goroutine.
type Encoder struct {
	projector *native.Projector
	options   QueueOptions
	stop      context.CancelFunc
	closed    context.Context
	ended     chan struct{}
	wake      chan struct{} // holds one element where there is work

	mu    sync.Mutex
	queue turns.Queue[*job]
	room  portion.Pool // in the queue
	jobs  map[key]*job // waiting or running
	cache cache
	stats Stats
}

// key names embeddings.
type key struct {
	scope string
	hash  [sha256.Size]byte
}

// Stats count what an encoder has done since it was made.
type Stats struct {
	Encoded   int // pictures and sounds
	Embedded  int // embeddings that they made
	Shared    int // requests that waited for what another had asked for
	Hits      int // requests that found embeddings kept
	Cancelled int // pictures and sounds that nobody waited for any more
	Waiting   int // now, with the one that is encoded
	KeptBytes int64
	Took      time.Duration // encoding, also what was given up
}

// New makes an encoder with a projector, which stays the caller's and is closed after it.
func New(p *native.Projector, o QueueOptions) *Encoder {
	e := &Encoder{projector: p, options: o, ended: make(chan struct{}), wake: make(chan struct{}, 1), jobs: map[key]*job{}}
	e.cache.most, e.room = o.CacheBytes, portion.Pool{Limit: int64(o.Queue), Least: 1}
	e.closed, e.stop = context.WithCancel(context.Background())
	go e.run()
	return e
}

// Encode returns the pieces that stand for a picture or a sound in a prompt. They are shared:
// nobody writes to them.
//
// # Errors
//
//   - the cause of ctx, when that is done first
//   - ErrFull, ErrShare, ErrClosed
//   - those of the request's Decode, of native.Projector's methods, and a *panics.Error of either
func (e *Encoder) Encode(ctx context.Context, r Source) ([]Piece, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	j, pieces, err := e.findOrQueue(r)
	if j == nil {
		return pieces, err
	}
	select {
	case <-j.done:
		return j.pieces, j.err
	case <-ctx.Done():
		e.leave(j)
		return nil, context.Cause(ctx)
	}
}

// findOrQueue finds embeddings that are kept, or else the job that a request waits for.
func (e *Encoder) findOrQueue(r Source) (*job, []Piece, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := key{r.Scope, r.Hash}
	if pieces, ok := e.cache.find(k); ok {
		e.stats.Hits++
		tell(r.Piece, pieces)
		return nil, pieces, nil
	}
	if j := e.jobs[k]; j != nil && j.ctx.Err() == nil {
		e.stats.Shared++
		j.waiting++
		j.join(r.Piece)
		return j, nil, nil
	}
	if e.closed.Err() != nil {
		return nil, nil, ErrClosed
	}
	switch e.room.Take(r.Client, 1) {
	case portion.Enough:
		return nil, nil, ErrShare
	case portion.TooFew:
		return nil, nil, fmt.Errorf("%w: %d", ErrFull, len(e.jobs))
	}
	j := newJob(e.closed, k, r)
	j.join(r.Piece)
	e.jobs[k] = j
	e.queue.Add(j.client, j)
	e.signal()
	return j, nil, nil
}

// leave is said by a request that waits no longer.
func (e *Encoder) leave(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j.waiting--; j.waiting > 0 {
		return
	}
	j.cancel()
	if e.queue.Remove(j.client, j) {
		e.finish(j, nil, context.Canceled)
	}
}

func (e *Encoder) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run is the encoder's goroutine.
func (e *Encoder) run() {
	defer close(e.ended)
	for {
		j := e.next()
		if j == nil {
			select {
			case <-e.wake:
				continue
			case <-e.closed.Done():
				return
			}
		}
		var pieces []Piece
		begin := time.Now()
		err := panics.Try(func() (err error) {
			pieces, err = e.encode(j)
			return err
		})
		e.mu.Lock()
		e.queue.Served(j.client, int64(j.cost))
		e.stats.Took += time.Since(begin)
		e.finish(j, pieces, err)
		e.mu.Unlock()
	}
}

// next is the job whose turn has come.
func (e *Encoder) next() *job {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Err() != nil {
		for j, found := e.queue.Next(); found; j, found = e.queue.Next() {
			e.finish(j, nil, ErrClosed)
		}
		return nil
	}
	j, _ := e.queue.Next()
	return j
}

// finish notifies the waiting requests, and caches the embeddings. The lock is held.
func (e *Encoder) finish(j *job, pieces []Piece, err error) {
	defer j.cancel()
	e.room.Give(j.client, 1)
	if e.jobs[j.key] == j { // else another took its place after nobody waited for it
		delete(e.jobs, j.key)
	}
	switch {
	case err == nil:
		e.stats.Encoded++
		e.stats.Embedded += j.cost
		e.cache.keep(j.key, pieces)
	case e.closed.Err() != nil:
		err = ErrClosed
	case j.ctx.Err() != nil:
		e.stats.Cancelled++
	}
	j.pieces, j.err = pieces, err
	close(j.done)
}

// encode decodes a picture or a sound and computes its embeddings.
func (e *Encoder) encode(j *job) (_ []Piece, err error) {
	decoded, err := j.decode(j.ctx)
	if err != nil {
		return nil, err
	}
	media, err := e.divide(decoded)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, media.Close()) }()
	pieces := make([]Piece, len(media.Pieces()))
	for i, p := range media.Pieces() {
		pieces[i].Piece = p
		if p.Tokens == nil {
			j.cost += p.Embeddings
			if pieces[i].Values, err = e.compute(j.ctx, media, i); err != nil {
				return nil, err
			}
		}
		e.tellReaders(j, pieces[:i+1])
	}
	return pieces, nil
}

// tellReaders tells those who want to know of the last of the pieces that a job has now.
func (e *Encoder) tellReaders(j *job, pieces []Piece) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j.pieces = pieces
	for _, reader := range j.readers {
		reader(pieces[len(pieces)-1])
	}
}

// compute computes embeddings, in turns with others.
func (e *Encoder) compute(ctx context.Context, m *native.Media, piece int) ([]float32, error) {
	if e.options.Gate != nil {
		e.options.Gate.Begin(e.projector)
		defer e.options.Gate.End()
	}
	return e.projector.Encode(ctx, m, piece)
}

func (e *Encoder) divide(m Media) (*native.Media, error) {
	if m.RGB == nil {
		return e.projector.Sound(m.Samples)
	}
	return e.projector.Picture(m.Width, m.Height, m.RGB)
}

// Stats tells what the encoder has done.
func (e *Encoder) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Waiting, s.KeptBytes = len(e.jobs), e.cache.bytes
	return s
}

// Close stops what is being encoded and waits for that. Waiting requests get ErrClosed.
func (e *Encoder) Close() {
	e.stop()
	e.signal()
	<-e.ended
	e.next() // what came in meanwhile
}

// job is a picture or a sound that is encoded for all requests that wait for it.
type job struct {
	key     key
	client  string // who asked first
	decode  func(context.Context) (Media, error)
	ctx     context.Context // done when nobody waits any more
	cancel  context.CancelFunc
	waiting int           // requests
	cost    int           // embeddings that were begun; the encoder's goroutine counts
	done    chan struct{} // closed once all pieces, or err, are there
	pieces  []Piece       // so far
	readers []func(Piece) // that are told of each
	err     error
}

func newJob(parent context.Context, k key, r Source) *job {
	j := &job{key: k, client: r.Client, decode: r.Decode, waiting: 1, done: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(parent)
	return j
}

// join has a request be told of each piece, which may want that: of those so far at once. The
// encoder's lock is held.
func (j *job) join(reader func(Piece)) {
	if reader != nil {
		tell(reader, j.pieces)
		j.readers = append(j.readers, reader)
	}
}

// tell tells a reader, if there is one, of pieces.
func tell(reader func(Piece), pieces []Piece) {
	if reader == nil {
		return
	}
	for _, p := range pieces {
		reader(p)
	}
}

// cache keeps embeddings up to a bound in bytes: an LRU cache.
type cache struct {
	most, bytes int64
	entries     map[key]*list.Element
	order       list.List // of entries, the one that was used last in front
}

type entry struct {
	key    key
	pieces []Piece
	bytes  int64
}

func (c *cache) find(k key) ([]Piece, bool) {
	at := c.entries[k]
	if at == nil {
		return nil, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*entry).pieces, true
}

func (c *cache) keep(k key, pieces []Piece) {
	e := &entry{k, pieces, sizeOf(pieces)}
	if e.bytes > c.most || c.entries[k] != nil {
		return
	}
	if c.entries == nil {
		c.entries = map[key]*list.Element{}
	}
	c.entries[k] = c.order.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > c.most {
		last := c.order.Back()
		old := c.order.Remove(last).(*entry)
		delete(c.entries, old.key)
		c.bytes -= old.bytes
	}
}

// overhead is about what an entry takes besides its numbers.
const overhead = 512

func sizeOf(pieces []Piece) int64 {
	n := int64(overhead)
	for _, p := range pieces {
		n += int64(4*(len(p.Values)+len(p.Tokens))) + overhead
	}
	return n
}
