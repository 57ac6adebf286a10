// SPDX-License-Identifier: MIT

package encoder

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes an encoder for a small pair that sees and hears.
func open(t testing.TB, o QueueOptions) *Encoder {
	t.Helper()
	path, projectorPath := must.Both(synth.MediaPair{Projector: "mlp+ultravox", Text: "llama"}.WriteFiles(t.TempDir(), 1))(t)
	model := must.Get(native.LoadModel(t.Context(), path, native.ModelOptions{}))(t)
	projector := must.Get(native.OpenProjector(model, projectorPath, native.ProjectorOptions{Threads: 1}))(t)
	if o.Queue == 0 {
		o.Queue = 100
	}
	e := New(projector, o)
	t.Cleanup(func() {
		e.Close()
		if err := errors.Join(projector.Close(), model.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// square is a picture of a colour.
func square(colour byte) Media {
	rgb := make([]byte, 3*20*20)
	for i := range rgb {
		rgb[i] = colour * byte(i)
	}
	return Media{Width: 20, Height: 20, RGB: rgb}
}

// request asks for a picture; each call of Decode is sent to called, if there is one.
func request(client, scope string, colour byte, called chan<- string) Source {
	return Source{
		Hash: sha256.Sum256([]byte{colour}), Scope: scope, Client: client,
		Decode: func(context.Context) (Media, error) {
			if called != nil {
				called <- fmt.Sprint(client, colour)
			}
			return square(colour), nil
		},
	}
}

// occupy has the encoder be busy with a job until the function that it returns is called.
func occupy(t testing.TB, e *Encoder) (release func()) {
	t.Helper()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := e.Encode(context.Background(), Source{Hash: sha256.Sum256([]byte("busy")), Client: "busy", Decode: func(context.Context) (Media, error) {
			close(begun)
			<-end
			return square(0), nil
		}})
		done <- err
	}()
	<-begun
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// waitFor waits until the encoder's numbers are so.
func waitFor(e *Encoder, is func(Stats) bool) {
	for !is(e.Stats()) {
		runtime.Gosched()
	}
}

// queued is how many jobs wait for their turn.
func queued(e *Encoder) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queue.Len()
}

// What is asked for by several at the same time, or again later, is decoded and encoded once,
// within a scope.
func TestEncoder_SameContent_EncodedOnce(t *testing.T) {
	e := open(t, QueueOptions{CacheBytes: 1 << 20})
	release := occupy(t, e)
	called := make(chan string, 100)
	var all [10][]Piece
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			var err error
			if all[i], err = e.Encode(t.Context(), request(fmt.Sprint("client ", i%3), "a", 7, called)); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(e, func(s Stats) bool { return s.Shared == 9 })
	release()
	wait.Wait()
	again := must.Get(e.Encode(t.Context(), request("later", "a", 7, called)))(t)
	if len(called) != 1 {
		t.Errorf("it was decoded %d times", len(called))
	}
	for _, pieces := range append(all[1:], again) {
		if &pieces[0] != &all[0][0] {
			t.Error("somebody got embeddings of their own")
		}
	}
	other, err := e.Encode(t.Context(), request("client 0", "b", 7, called))
	if err != nil || len(called) != 2 {
		t.Errorf("another scope: %d decoded, %v", len(called), err)
	}
	if s := e.Stats(); s.Encoded != 3 || s.Hits != 1 || s.Waiting != 0 || s.KeptBytes == 0 {
		t.Errorf("%+v", s)
	}
	for i := range other {
		if !slices.Equal(other[i].Values, all[0][i].Values) {
			t.Error("the same picture gave other embeddings")
		}
	}
}

// Clients take turns by what was encoded for them, whoever asked first and however much they ask
// for.
func TestEncoder_ClientsTakeTurns(t *testing.T) {
	e := open(t, QueueOptions{})
	release := occupy(t, e)
	called := make(chan string, 100)
	var wait sync.WaitGroup
	waiting := 1
	ask := func(client string, colour byte) {
		wait.Go(func() {
			if _, err := e.Encode(t.Context(), request(client, "", colour, called)); err != nil {
				t.Error(err)
			}
		})
		waiting++
		waitFor(e, func(s Stats) bool { return s.Waiting == waiting })
	}
	for colour := range byte(4) {
		ask("a", 10+colour)
	}
	ask("b", 20)
	ask("b", 21)
	ask("c", 30)
	release()
	wait.Wait()
	close(called)
	var order []string
	for c := range called {
		order = append(order, c)
	}
	if want := []string{"a10", "b20", "c30", "a11", "b21", "a12", "a13"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// What nobody waits for leaves the queue, or stops; what one of two still waits for goes on.
func TestEncoder_NobodyWaits_NotEncoded(t *testing.T) {
	e := open(t, QueueOptions{CacheBytes: 1 << 20})
	release := occupy(t, e)
	called := make(chan string, 100)
	gone, leave := context.WithCancelCause(t.Context())
	reason := errors.New("the client has left")
	results := make(chan error, 3)
	for _, ask := range []struct {
		ctx    context.Context
		colour byte
	}{{gone, 1}, {gone, 2}, {t.Context(), 2}} {
		go func() { results <- second(e.Encode(ask.ctx, request("a", "", ask.colour, called))) }()
	}
	waitFor(e, func(s Stats) bool { return s.Shared == 1 && s.Waiting == 3 })
	leave(reason)
	for range 2 {
		if err := <-results; !errors.Is(err, reason) {
			t.Error(err)
		}
	}
	release()
	if err := <-results; err != nil {
		t.Error(err)
	}
	if s := e.Stats(); s.Cancelled != 1 || s.Encoded != 2 || len(called) != 1 || s.Waiting != 0 {
		t.Errorf("%+v, decoded %d", s, len(called))
	}
}

// Who asks for what was just given up is served all the same.
func TestEncoder_AskedAgainWhileItStops(t *testing.T) {
	e := open(t, QueueOptions{})
	ctx, leave := context.WithCancel(t.Context())
	begun, stop := make(chan struct{}), make(chan struct{})
	r := request("a", "", 5, nil)
	r.Decode = func(ctx context.Context) (Media, error) {
		close(begun)
		<-ctx.Done()
		<-stop
		return square(5), nil
	}
	left := make(chan error)
	go func() { left <- second(e.Encode(ctx, r)) }()
	<-begun
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	again := make(chan error)
	go func() { again <- second(e.Encode(t.Context(), request("a", "", 5, nil))) }()
	for queued(e) == 0 {
		runtime.Gosched()
	}
	close(stop)
	if err := <-again; err != nil {
		t.Error(err)
	}
	if s := e.Stats(); s.Cancelled != 1 || s.Encoded != 1 {
		t.Errorf("%+v", s)
	}
}

func TestEncoder_Bounds(t *testing.T) {
	e := open(t, QueueOptions{Queue: 2, CacheBytes: 6000}) // of which a picture takes 16 x 64 numbers
	release := occupy(t, e)
	waits := make(chan error)
	go func() { waits <- second(e.Encode(t.Context(), request("a", "", 1, nil))) }()
	waitFor(e, func(s Stats) bool { return s.Waiting == 2 })
	if err := second(e.Encode(t.Context(), request("b", "", 2, nil))); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if err := second(e.Encode(t.Context(), request("a", "", 5, nil))); !errors.Is(err, ErrShare) {
		t.Errorf("another of one that has its share: %v", err)
	}
	release()
	if err := <-waits; err != nil {
		t.Error(err)
	}
	called := make(chan string, 100)
	for _, colour := range []byte{3, 4, 3, 4, 4} { // there is room for one
		if err := second(e.Encode(t.Context(), request("a", "", colour, called))); err != nil {
			t.Error(err)
		}
		if kept := e.Stats().KeptBytes; kept > 6000 || kept < 4096 {
			t.Errorf("%d bytes are kept", kept)
		}
	}
	if len(called) != 4 {
		t.Errorf("%d were encoded", len(called))
	}
}

// One that cannot be decoded or encoded is its own error, and the next one is encoded.
func TestEncoder_Failures(t *testing.T) {
	e := open(t, QueueOptions{CacheBytes: 1 << 20})
	failure := errors.New("no picture")
	var panicked *panics.Error
	for i, c := range []struct {
		decode func(context.Context) (Media, error)
		is     func(error) bool
	}{
		{func(context.Context) (Media, error) { return Media{}, failure }, func(err error) bool { return errors.Is(err, failure) }},
		{func(context.Context) (Media, error) { panic("a decoder's fault") }, func(err error) bool { return errors.As(err, &panicked) }},
		{func(context.Context) (Media, error) { return Media{}, nil }, func(err error) bool { return errors.Is(err, native.ErrInvalid) }},
		{func(context.Context) (Media, error) {
			return Media{Width: 1000, Height: 1, RGB: make([]byte, 3000)}, nil
		}, func(err error) bool { return errors.Is(err, native.ErrInvalid) }},
		{func(context.Context) (Media, error) { return Media{Samples: make([]float32, 1600)}, nil }, func(err error) bool { return err == nil }},
	} {
		for range 2 { // failures are not kept
			if err := second(e.Encode(t.Context(), Source{Hash: sha256.Sum256([]byte{100, byte(i)}), Decode: c.decode})); !c.is(err) {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
	if s := e.Stats(); s.Encoded != 1 || s.Hits != 1 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

func TestEncoder_Close(t *testing.T) {
	e := open(t, QueueOptions{})
	begun := make(chan struct{})
	results := make(chan error, 3)
	go func() {
		results <- second(e.Encode(t.Context(), Source{Decode: func(ctx context.Context) (Media, error) {
			close(begun)
			<-ctx.Done()
			return square(1), nil
		}}))
	}()
	<-begun
	for colour := range byte(2) {
		go func() { results <- second(e.Encode(t.Context(), request("a", "", colour, nil))) }()
	}
	waitFor(e, func(s Stats) bool { return s.Waiting == 3 })
	e.Close()
	for range 3 {
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	if err := second(e.Encode(t.Context(), request("a", "", 1, nil))); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	e.Close()
}

// second is the error of a call that also gives something.
func second[T any](_ T, err error) error { return err }

// All who wait for a picture are told of its pieces, whenever they ask.
func TestEncoder_Piece_TellsAllWhoAsk(t *testing.T) {
	e := open(t, QueueOptions{CacheBytes: 1 << 20})
	var told, all [4][]Piece
	ask := func(i int) {
		r := request("client", "a", 7, nil)
		r.Piece = func(p Piece) { told[i] = append(told[i], p) }
		var err error
		if all[i], err = e.Encode(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	release := occupy(t, e)
	var wait sync.WaitGroup
	for i := range 3 {
		wait.Go(func() { ask(i) })
	}
	waitFor(e, func(s Stats) bool { return s.Shared == 2 })
	release()
	wait.Wait()
	ask(3) // it is kept
	for i := range all {
		if len(told[i]) == 0 || len(told[i]) != len(all[i]) {
			t.Fatalf("%d was told of %d pieces of %d", i, len(told[i]), len(all[i]))
		}
		for k, p := range all[i] {
			if !slices.Equal(told[i][k].Values, p.Values) {
				t.Errorf("%d was told of another piece %d", i, k)
			}
		}
	}
	begun, n := job{pieces: make([]Piece, 2)}, 0
	if begun.join(func(Piece) { n++ }); n != 2 || len(begun.readers) != 1 {
		t.Errorf("who comes later is told of %d pieces, want 2", n)
	}
}
