// SPDX-License-Identifier: MIT

// Package embedding computes embeddings of texts and scores of documents, those of several clients
// in one pass.
//
// A goroutine takes inputs from all requests that wait, in turns, until a pass is full (queue.go),
// has the backend compute them, and makes one vector of each. While the scheduler computes answers,
// a pass waits (host/pausing).
//
// # Why does Penstock pool embeddings itself?
//
// The context gives a vector for each token, and host/embedding makes one of them. Then one
// context serves requests that want one vector and those that want all, and a model that
// generates text may be given its input in pieces: llama.cpp pools only what is in one piece.
// Pieces also keep llama.cpp's buffer of logits small, which has a row for each token with an
// embedding. The shim ends a pass before it computes those logits, which would take as long as
// many layers.
//
// # Why does the model that chats give embeddings if no other is configured?
//
// A program that asks for both would fail otherwise. The context is made with the first such
// request, so it costs nothing where nobody asks. A model for embeddings gives better ones,
// though.
package embedding

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/pausing"
	"github.com/penstock/penstock/scheduler/panics"
)

// Backend is a model that gives embeddings or scores. Its methods are called by one goroutine,
// except Pause and Resume.
type Backend interface {
	Limits() Limits
	// Compute computes inputs, each on its own, and calls visit with what the model gives for each
	// of them, in order: the vectors of its tokens, or its scores once. A vector is valid during
	// the call.
	Compute(inputs [][]int32, visit func(input int, vector []float32)) error
	// Pause has a running Compute, and later ones, wait soon, until Resume. Neither waits itself.
	Pause()
	Resume()
	// Close aborts a running Compute and frees everything.
	Close() error
}

// Limits are what one Compute takes.
type Limits struct {
	Inputs int // at once
	Tokens int // of all inputs together
	Input  int // tokens of one input
	Width  int // numbers of a vector
}

// Options set a service up.
type Options struct {
	Open       func() (Backend, error) // called with the first request, and again with later ones until it succeeds
	QueueLimit int                     // requests that may wait
	Gate       *pausing.Gate           // shared with all that computes on the same processors; nil: nothing else does
	Observer   Observer                // nil: none
}

// Observer is told what a service does.
type Observer interface {
	// Pass is told of a pass: the inputs and tokens in it, and its time with pauses.
	Pass(inputs, tokens int, took time.Duration)
	// Answered is told of the end of a request: its tokens, and its time in the queue and in
	// passes.
	Answered(tokens int, took time.Duration, err error)
}

// Task is texts to embed or documents to score.
type Task struct {
	Caller    string    // who asks: callers take turns, and have shares of the queue
	Inputs    [][]int32 // tokens
	Pooling   Pooling   // scores are not pooled
	Normalize int       // see Normalize; vectors of PoolingNone and scores are not normalised

	// Row is given the vectors in the order of the inputs, each as soon as it is there, in place of
	// the Result. The goroutine that computes for all calls it, also after Embed has ended with its
	// context, until the pass that runs is over: it must be quick. Nil: the result has them.
	Row func(vector []float32)
}

// Result is the answer to a request.
type Result struct {
	Vectors [][][]float32 // of each input: one, or with PoolingNone one for each token
	Tokens  int           // of all inputs

	release func()
}

// Release forgets the vectors, which count until then among those of all clients. It is called
// once they are sent.
func (r *Result) Release() {
	if r.release != nil {
		r.release()
	}
	r.Vectors, r.release = nil, nil
}

// Service computes the embeddings of one model. It is safe for concurrent use.
type Service struct {
	options Options

	opening sync.Mutex // one Open at a time
	mu      sync.Mutex
	backend Backend // nil: not opened yet
	queue   queue
	closed  bool
	wake    chan struct{} // something waits, or the service closes
	ended   chan struct{} // closed by the goroutine that computes
}

// New makes a service. It opens nothing yet.
func New(o Options) *Service {
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Gate == nil {
		o.Gate = &pausing.Gate{}
	}
	return &Service{options: o, queue: newQueue(o.QueueLimit), wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// Open opens the backend unless it is open, and returns its limits.
func (s *Service) Open() (Limits, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	backend, closed := s.backend, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return Limits{}, ErrClosed
	case backend != nil:
		return backend.Limits(), nil
	}
	backend, err := s.options.Open()
	if err != nil {
		return Limits{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	s.mu.Lock()
	s.backend = backend
	s.mu.Unlock()
	go s.run(backend)
	return backend.Limits(), nil
}

// Embed computes a request. It waits until that is done or ctx is. A request that is not sound is
// an ErrInvalid. The result is to be released.
func (s *Service) Embed(ctx context.Context, r Task) (Result, error) {
	limits, err := s.Open()
	if err != nil {
		return Result{}, err
	}
	job, err := newJob(r, limits)
	if err != nil {
		return Result{}, err
	}
	begun := time.Now()
	err = s.wait(ctx, job)
	s.options.Observer.Answered(job.result.Tokens, time.Since(begun), err)
	if err != nil {
		s.release(job)
		return Result{}, err
	}
	job.result.release = func() { s.release(job) }
	return job.result, nil
}

// release gives back what a job has of the queue's room, if it has any.
func (s *Service) release(job *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.release(job)
}

// wait queues a job and waits for its end.
func (s *Service) wait(ctx context.Context, job *job) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if err := s.queue.add(job); err != nil {
		s.mu.Unlock()
		return err
	}
	s.mu.Unlock()
	s.signal()
	select {
	case <-job.done:
		return job.err
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue.drop(job)
		return context.Cause(ctx)
	}
}

func (s *Service) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// run computes passes until the service closes.
func (s *Service) run(b Backend) {
	defer close(s.ended)
	for {
		pass, closed := s.next(b.Limits())
		switch {
		case closed:
			return
		case len(pass) == 0:
			<-s.wake
		default:
			s.compute(b, pass)
		}
	}
}

// next takes what the next pass computes; once the service closes, what waits is Close's to end.
func (s *Service) next(l Limits) (pass []item, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, true
	}
	return s.queue.take(l), false
}

// compute runs a pass. If it fails its inputs are computed one by one, so that only the guilty
// request fails.
func (s *Service) compute(b Backend, pass []item) {
	err := s.try(b, pass)
	if err != nil && len(pass) > 1 && !s.isClosed() {
		for _, it := range pass {
			s.compute(b, []item{it})
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range pass {
		s.queue.finish(it, err)
	}
}

func (s *Service) try(b Backend, pass []item) error {
	inputs := make([][]int32, len(pass))
	pools := make([]pool, len(pass))
	tokens := 0
	for i, it := range pass {
		inputs[i] = it.tokens()
		tokens += len(inputs[i])
		pools[i] = it.pool()
	}
	s.options.Gate.Begin(b)
	begun := time.Now()
	err := panics.Try(func() error {
		return b.Compute(inputs, func(input int, vector []float32) { pools[input].add(vector) })
	})
	s.options.Gate.End()
	s.options.Observer.Pass(len(pass), tokens, time.Since(begun))
	switch {
	case err != nil && s.isClosed():
		return ErrClosed
	case err != nil:
		return fmt.Errorf("%w: %w", ErrPass, err)
	}
	for i, it := range pass {
		vectors := pools[i].vectors(it.job.request.Normalize)
		if it.job.request.Row == nil {
			it.job.result.Vectors[it.index] = vectors
			continue
		}
		for _, v := range vectors {
			it.job.request.Row(v)
		}
	}
	return nil
}

func (s *Service) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close ends what waits with ErrClosed and frees the backend.
func (s *Service) Close() error {
	s.opening.Lock() // an Open that runs would leave its backend behind
	defer s.opening.Unlock()
	s.mu.Lock()
	again, backend := s.closed, s.backend
	s.closed = true
	s.mu.Unlock()
	if again || backend == nil {
		return nil
	}
	s.signal()
	err := backend.Close() // aborts a pass
	<-s.ended
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.fail(ErrClosed)
	return err
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Pass(int, int, time.Duration)       {}
func (nobody) Answered(int, time.Duration, error) {}

// Model is a model that gives embeddings, or one that scores documents, as requests use it.
type Model struct {
	*Service
	Text
	Name       string // what clients call it
	Vocabulary int    // tokens
	// Pooling is what was configured, or else what the model's file says; empty: neither. It is
	// PoolingRank where the model scores.
	Pooling Pooling
	// OneVector is the pooling for requests that take one vector for a text: Pooling where that
	// gives one and was not configured to give several.
	OneVector Pooling
	Normalize int // for requests that do not say how
}

// Text turns what requests hold into tokens. When ctx is done it ends soon, with its cause.
type Text interface {
	Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error)
	// Pair is the input by which a model scores a document for a query.
	Pair(ctx context.Context, query, document string) ([]int32, error)
}

// The errors of this package, for errors.Is.
var (
	ErrInvalid     = errors.New("invalid input")
	ErrQueueFull   = errors.New("too many requests for embeddings wait")
	ErrShare       = errors.New("your requests for embeddings, or those of your address, wait or are being sent, and have all the room that one client may have")
	ErrUnavailable = errors.New("the model for embeddings cannot be opened")
	ErrPass        = errors.New("computing the embeddings failed")
	ErrClosed      = errors.New("the service of embeddings is closed")
)

// Pooling is how the vectors of a text's tokens become one.
type Pooling string

// The kinds of pooling, by llama.cpp's names.
const (
	PoolingNone Pooling = "none" // each token keeps its own
	PoolingMean Pooling = "mean"
	PoolingCLS  Pooling = "cls"  // that of the first token
	PoolingLast Pooling = "last" // that of the last token
	PoolingRank Pooling = "rank" // a classifier's scores, of which a backend gives only one vector
)

var poolings = []Pooling{PoolingNone, PoolingMean, PoolingCLS, PoolingLast, PoolingRank}

func (p Pooling) check() error {
	if slices.Contains(poolings, p) {
		return nil
	}
	var names []string
	for _, p := range poolings {
		names = append(names, string(p))
	}
	return fmt.Errorf("%w: pooling is %q; it must be one of %s", ErrInvalid, string(p), strings.Join(names, ", "))
}

// pool gathers the vectors of one text's tokens.
type pool struct {
	kind  Pooling
	width int
	n     int
	sum   []float64 // of a mean
	kept  [][]float32

	row  func([]float32) // is told of the vector of each token; nil: they are kept
	told *int            // tokens that it was told of, perhaps by a pass that failed
}

// add takes the vector of the next token.
func (p *pool) add(v []float32) {
	p.n++
	switch {
	case p.kind == PoolingMean:
		if p.sum == nil {
			p.sum = make([]float64, len(v))
		}
		for i, x := range v {
			p.sum[i] += float64(x)
		}
	case p.row != nil:
		if p.n > *p.told {
			*p.told = p.n
			p.row(slices.Clone(v))
		}
	case p.kind == PoolingNone || len(p.kept) == 0:
		p.kept = append(p.kept, slices.Clone(v))
	case p.kind == PoolingLast:
		copy(p.kept[0], v)
	}
}

// vectors are the result, normalised where they were pooled.
func (p *pool) vectors(normalize int) [][]float32 {
	if p.kind == PoolingMean && p.n > 0 {
		mean := make([]float32, len(p.sum))
		for i, x := range p.sum {
			mean[i] = float32(x / float64(p.n))
		}
		p.kept = [][]float32{mean}
	}
	if p.kind != PoolingNone && p.kind != PoolingRank {
		for _, v := range p.kept {
			Normalize(v, normalize)
		}
	}
	return p.kept
}

// Ways to normalise, as llama.cpp numbers them. Any other positive number p divides by the p-norm.
const (
	NormalizeNone      = -1
	NormalizeInt16     = 0 // the largest number becomes 32760 or -32760
	NormalizeEuclidean = 2
)

// maxNorm keeps the powers of a p-norm within float64.
const maxNorm = 64

// CheckNormalize refuses numbers that name no way to normalise.
func CheckNormalize(way int) error {
	if way < NormalizeNone || way > maxNorm {
		return fmt.Errorf("%w: normalisation %d is not known; -1: none, 0: to 16-bit integers, 1: taxicab, 2: Euclidean, up to %d: p-norm",
			ErrInvalid, way, maxNorm)
	}
	return nil
}

// Normalize scales a vector in place. A vector of zeros stays as it is.
func Normalize(v []float32, way int) {
	norm := 0.0
	switch way {
	case NormalizeNone:
		return
	case NormalizeInt16:
		for _, x := range v {
			norm = max(norm, math.Abs(float64(x)))
		}
		norm /= 32760
	case NormalizeEuclidean:
		for _, x := range v {
			norm += float64(x * x)
		}
		norm = math.Sqrt(norm)
	default:
		for _, x := range v {
			norm += math.Pow(math.Abs(float64(x)), float64(way))
		}
		norm = math.Pow(norm, 1/float64(way))
	}
	if norm == 0 {
		return
	}
	scale := float32(1 / norm)
	for i := range v {
		v[i] *= scale
	}
}
