// SPDX-License-Identifier: MIT

package embedding

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a backend whose vector of a token is the token and its place, and whose pass takes a
// second a token.
type fake struct {
	mu     sync.Mutex
	passes [][][]int32
	bad    int32 // a token that fails, by an error or, below 0, by a panic
	limits Limits
}

func (f *fake) Limits() Limits { return f.limits }
func (f *fake) Pause()         {}
func (f *fake) Resume()        {}
func (f *fake) Close() error   { return nil }

func (f *fake) Compute(inputs [][]int32, visit func(int, []float32)) error {
	f.mu.Lock()
	f.passes = append(f.passes, inputs)
	f.mu.Unlock()
	for i, in := range inputs {
		for place, token := range in {
			if token == f.bad {
				return errors.New("a bad token")
			}
			if token < 0 {
				panic("a worse one")
			}
			time.Sleep(time.Second)
			visit(i, []float32{float32(token), float32(place)})
		}
	}
	return nil
}

func (f *fake) sizes() (out []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.passes {
		out = append(out, len(p))
	}
	return out
}

func newFake() *fake {
	return &fake{bad: 666, limits: Limits{Inputs: 4, Tokens: 8, Input: 6, Width: 2}}
}

// service runs a service over a backend until the test ends, which is within a bubble.
func service(t *testing.T, f *fake, o Options) *Service {
	t.Helper()
	o.Open = func() (Backend, error) { return f, nil }
	if o.QueueLimit == 0 {
		o.QueueLimit = 100
	}
	s := New(o)
	must.Close(t, s)
	return s
}

func request(inputs ...[]int32) Task {
	return Task{Inputs: inputs, Pooling: PoolingLast, Normalize: NormalizeNone}
}

func TestService_Embed_PoolsEachInput(t *testing.T) {
	for pooling, want := range map[Pooling][][][]float32{
		PoolingNone: {{{5, 0}, {7, 1}}, {{9, 0}}}, PoolingMean: {{{6, 0.5}}, {{9, 0}}}, PoolingCLS: {{{5, 0}}, {{9, 0}}}, PoolingLast: {{{7, 1}}, {{9, 0}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := must.Get(service(t, newFake(), Options{}).Embed(t.Context(), Task{Inputs: [][]int32{{5, 7}, {9}}, Pooling: pooling, Normalize: NormalizeNone}))(t)
			if diff := cmp.Diff(want, got.Vectors); diff != "" || got.Tokens != 3 {
				t.Errorf("%s (-want +got):\n%s, %d tokens", pooling, diff, got.Tokens)
			}
		})
	}
}

// What waits shares a pass, and a client with many texts does not keep one with a single text
// waiting.
func TestService_Embed_ClientsShareAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := service(t, f, Options{})
		var group sync.WaitGroup
		embed := func(r Task, took *time.Duration) {
			group.Go(func() {
				begun := time.Now()
				if _, err := s.Embed(t.Context(), r); err != nil {
					t.Error(err)
				}
				*took = time.Since(begun)
			})
			synctest.Wait()
		}
		var many, one time.Duration
		big := make([][]int32, 20)
		for i := range big {
			big[i] = []int32{1, 2}
		}
		embed(request(big...), &many)
		embed(request([]int32{3}), &one)
		group.Wait()
		if one > 16*time.Second || many < 40*time.Second {
			t.Errorf("one text took %v, twenty %v", one, many)
		}
		for i, n := range f.sizes() {
			if n > 4 {
				t.Errorf("pass %d has %d inputs", i, n)
			}
		}
		if got := len(f.sizes()); got > 7 {
			t.Errorf("21 inputs took %d passes", got)
		}
	})
}

// A long text comes up although short ones keep arriving that would fill the pass.
func TestService_Embed_LongTextIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(t, newFake(), Options{})
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				for ctx.Err() == nil {
					_, _ = s.Embed(ctx, request([]int32{1, 2, 3})) // ends with ctx
				}
			})
		}
		begun := time.Now()
		if _, err := s.Embed(t.Context(), request([]int32{1, 2, 3, 4, 5, 6})); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 7*8*time.Second {
			t.Errorf("it took %v", took)
		}
		stop()
		group.Wait()
	})
}

func TestService_Embed_OnlyTheGuiltyFails(t *testing.T) {
	for name, bad := range map[string]int32{"error": 666, "panic": -1} {
		synctest.Test(t, func(t *testing.T) {
			s := service(t, newFake(), Options{})
			var group sync.WaitGroup
			group.Go(func() { _, _ = s.Embed(t.Context(), request([]int32{1, 1, 1})) }) // the others wait meanwhile
			synctest.Wait()
			errs := make([]error, 3)
			for i, in := range [][]int32{{4}, {bad}, {5}} {
				group.Go(func() { _, errs[i] = s.Embed(t.Context(), request(in)) })
			}
			group.Wait()
			if errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], ErrPass) {
				t.Errorf("%s: %v", name, errs)
			}
		})
	}
}

// Vectors that are told as they come are told in order, and once, also where a pass fails on the
// way for another's input.
func TestService_Embed_Row_EachOnce(t *testing.T) {
	for pooling, want := range map[Pooling][][]float32{PoolingNone: {{4, 0}, {5, 1}, {6, 0}}, PoolingLast: {{5, 1}, {6, 0}}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			s := service(t, f, Options{})
			var group sync.WaitGroup
			group.Go(func() { _, _ = s.Embed(t.Context(), request([]int32{1, 1, 1})) }) // the others wait meanwhile
			synctest.Wait()
			var rows [][]float32
			told := request([]int32{4, 5}, []int32{6})
			told.Pooling, told.Row = pooling, func(v []float32) { rows = append(rows, v) }
			group.Go(func() {
				if r, err := s.Embed(t.Context(), told); err != nil || len(slices.Concat(r.Vectors...)) > 0 {
					t.Errorf("%s: the result has %v, %v", pooling, r.Vectors, err)
				}
			})
			synctest.Wait()
			group.Go(func() { _, _ = s.Embed(t.Context(), request([]int32{666})) })
			group.Wait()
			if diff := cmp.Diff(want, rows); diff != "" {
				t.Errorf("%s (-want +got):\n%s", pooling, diff)
			}
			if got := f.sizes(); !slices.Equal(got, []int{1, 3, 1, 1, 1}) {
				t.Errorf("%s: passes of %d inputs; the one with all should have failed", pooling, got)
			}
		})
	}
}

func TestService_Embed_Refusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(t, newFake(), Options{})
		wide := newFake()
		wide.limits.Width = maxNumbers
		if _, err := service(t, wide, Options{}).Embed(t.Context(), request([]int32{1}, []int32{2})); !errors.Is(err, ErrInvalid) {
			t.Errorf("an answer that is too large: %v, want ErrInvalid", err)
		}
		for name, r := range map[string]Task{
			"no text": {Pooling: PoolingLast}, "empty text": request([]int32{1}, nil), "too long": request([]int32{1}, make([]int32, 7)),
			"pooling": {Inputs: [][]int32{{1}}, Pooling: "most"}, "normalize": {Inputs: [][]int32{{1}}, Pooling: PoolingLast, Normalize: -2},
		} {
			if _, err := s.Embed(t.Context(), r); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", name, err)
			}
		}
		var tooLong TooLongError
		if _, err := s.Embed(t.Context(), request([]int32{1}, make([]int32, 7))); !errors.As(err, &tooLong) || tooLong != (TooLongError{1, 7, 6}) {
			t.Errorf("%+v", tooLong)
		}
	})
}

func TestService_Embed_QueueFull_Cancelled_Closed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(t, newFake(), Options{QueueLimit: 2})
		errs := make(chan error, 3)
		ctx, cancel := context.WithCancel(t.Context())
		callers := 0
		embed := func(ctx context.Context) {
			callers++
			r := request([]int32{1, 2, 3, 4, 5, 6})
			r.Caller = strconv.Itoa(callers)
			go func() {
				_, err := s.Embed(ctx, r)
				errs <- err
			}()
			synctest.Wait()
		}
		embed(t.Context()) // computed
		embed(ctx)         // waits
		embed(t.Context())
		if err := <-errs; !errors.Is(err, ErrQueueFull) {
			t.Errorf("the third: %v, want ErrQueueFull", err)
		}
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("the second: %v, want that it was cancelled", err)
		}
		embed(t.Context()) // there is room again
		go func() { _ = s.Close() }()
		synctest.Wait()
		var ended []error
		for range 2 {
			ended = append(ended, <-errs)
		}
		if !errors.Is(errors.Join(ended...), ErrClosed) {
			t.Errorf("%v, want ErrClosed for what waited", ended)
		}
		if _, err := s.Embed(t.Context(), request([]int32{1})); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestService_Open_TriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		s := New(Options{QueueLimit: 1, Open: func() (Backend, error) {
			if broken {
				return nil, errors.New("no memory")
			}
			return newFake(), nil
		}})
		if _, err := s.Embed(t.Context(), request([]int32{1})); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v, want ErrUnavailable", err)
		}
		broken = false
		if _, err := s.Embed(t.Context(), request([]int32{1})); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What was computed counts until it is released, and a caller has no more than its share: it is
// told so, and another caller finds room.
func TestService_Embed_ResultsCountUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.Width = maxNumbers
		s := service(t, f, Options{})
		ask := func(caller string) (Result, error) {
			r := request([]int32{1})
			r.Caller = caller
			return s.Embed(t.Context(), r)
		}
		var held []Result
		for range 2 { // half of what others leave: of four times the most of one request, two
			r := must.Get(ask("one"))(t)
			held = append(held, r)
		}
		if _, err := ask("one"); !errors.Is(err, ErrShare) {
			t.Errorf("the third of one caller: %v", err)
		}
		for _, caller := range []string{"two", "three"} {
			if _, err := ask(caller); err != nil {
				t.Errorf("%s: %v", caller, err)
			}
		}
		if _, err := ask("four"); !errors.Is(err, ErrQueueFull) {
			t.Errorf("when all is taken: %v", err)
		}
		held[0].Release()
		held[0].Release()
		if _, err := ask("four"); err != nil {
			t.Errorf("after a release: %v", err)
		}
	})
}

// One that waits behind many requests of another caller is in the next pass but one.
func TestService_Embed_CallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.limits.Inputs = 1
		s := service(t, f, Options{QueueLimit: 1000})
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				r := request([]int32{int32(100 + i)})
				r.Caller = "one"
				if _, err := s.Embed(t.Context(), r); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		group.Go(func() {
			r := request([]int32{7})
			r.Caller = "two"
			if _, err := s.Embed(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		at := slices.IndexFunc(f.passes, func(p [][]int32) bool { return p[0][0] == 7 })
		if at < 0 || at > 2 {
			t.Errorf("the other caller's is pass %d of %d", at, len(f.passes))
		}
	})
}

func TestNormalize_Ways(t *testing.T) {
	for way, want := range map[int][]float32{
		NormalizeNone: {3, -4, 0}, NormalizeInt16: {24570, -32760, 0}, 1: {3.0 / 7, -4.0 / 7, 0}, NormalizeEuclidean: {0.6, -0.8, 0},
		3: {3 / float32(math.Cbrt(91)), -4 / float32(math.Cbrt(91)), 0},
	} {
		got := []float32{3, -4, 0}
		Normalize(got, way)
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-3*math.Abs(float64(want[i])) {
				t.Errorf("way %d: %v, want %v", way, got, want)
			}
		}
		zeros := make([]float32, 3)
		Normalize(zeros, way)
		if zeros[0] != 0 {
			t.Errorf("way %d: zeros become %v", way, zeros)
		}
	}
	for _, way := range []int{-2, maxNorm + 1} {
		if CheckNormalize(way) == nil {
			t.Errorf("way %d was accepted", way)
		}
	}
}
