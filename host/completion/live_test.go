// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// cancellable is a stream that ends when it is cancelled.
type cancellable struct {
	fed
	once *sync.Once
}

func (c cancellable) Cancel() {
	c.once.Do(func() {
		c.events <- scheduler.Event{Kind: scheduler.KindEnd, End: &scheduler.End{Reason: answer.ReasonCancelled}}
	})
}

// newLive is a live answer that has some tokens and goes on until it is cancelled; given counts how
// often it was given back.
func newLive(ctx context.Context, given *atomic.Int32) *Live {
	p := &Prompted{Plugins: noPlugins{}, Media: Media{let: func() {}}, held: held{arrived: func() {}, back: []func(){func() { given.Add(1) }}}}
	r := &Submitted{Prompted: p}
	stream := cancellable{fed{events: make(chan scheduler.Event, 8)}, &sync.Once{}}
	for _, text := range []string{"a", "b", "c"} {
		stream.events <- scheduler.Event{Kind: scheduler.KindToken, Text: text}
	}
	r.Choices = []*Choice{{Request: r, Stream: stream}}
	return NewLive(ctx, r, func(*Live) { given.Add(1) })
}

// However an answer ends, what it holds is given back once: its model, and its place among the live
// ones. The race detector sees whether reader and others share anything.
func TestLive_EndsOnce(t *testing.T) {
	ended := errors.New("ended")
	for name, c := range map[string]struct {
		end  func(l *Live, cancel func())
		want error // of who reads it afterwards
	}{
		"by its reader":  {func(l *Live, _ func()) { _ = l.Read(func(*Delta) bool { return false }) }, nil},
		"from elsewhere": {func(l *Live, _ func()) { l.End(ended) }, ended},
		"by its context": {func(_ *Live, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var given atomic.Int32
				l := newLive(ctx, &given)
				c.end(l, cancel)
				synctest.Wait()
				if err := l.Read(func(*Delta) bool { return true }); !errors.Is(err, c.want) {
					t.Errorf("read afterwards: %v", err)
				}
				l.End(nil)
				if n := given.Load(); n != 2 {
					t.Errorf("given back %d times, want the model and the place once", n)
				}
			})
		})
	}
}

// An answer that fails for an io.EOF, as of a file, is not taken for a whole one.
func TestLive_Read_FailsForEOF(t *testing.T) {
	l := newLive(t.Context(), new(atomic.Int32))
	l.Choice.Stream.(cancellable).events <- scheduler.Event{Kind: scheduler.KindEnd, End: &scheduler.End{Reason: answer.ReasonError, Err: fmt.Errorf("a file: %w", io.EOF)}}
	for range 2 {
		if err := l.Read(func(*Delta) bool { return true }); err == nil {
			t.Error("it was read to its end")
		}
	}
}

// next drains an answer of one delta.
func next(l *Live, wait bool) (d Delta, ok bool, err error) {
	err = l.Drain(wait, func(gained *Delta) bool {
		d, ok = *gained, true
		return false
	})
	return d, ok, err
}

// What is drained is what a loop reads; the end gives back what the answer holds. One that is
// ended between two tokens is given back then.
func TestLive_Drain(t *testing.T) {
	ended := errors.New("ended")
	for name, c := range map[string]struct {
		text string // that is read before the end
		wait bool
		end  func(l *Live, cancel func())
		want error
	}{
		"to the end":      {"abc", true, func(l *Live, _ func()) { l.Choice.Stream.Cancel() }, io.EOF},
		"without waiting": {"abc", false, func(l *Live, _ func()) { l.Choice.Stream.Cancel() }, io.EOF},
		"ended between":   {"ab", true, func(l *Live, _ func()) { l.End(ended) }, ended},
		"its context":     {"ab", false, func(_ *Live, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var given atomic.Int32
				l := newLive(ctx, &given)
				text := ""
				for text != c.text {
					d, ok, err := next(l, c.wait)
					if !ok || err != nil {
						t.Fatalf("after %q: %v, %v", text, ok, err)
					}
					text += d.Content
				}
				if !c.wait && c.text == "abc" {
					if _, ok, err := next(l, false); ok || err != nil || given.Load() != 0 {
						t.Errorf("before the next has come: %v, %v", ok, err)
					}
				}
				c.end(l, cancel)
				synctest.Wait()
				whole := errors.Is(c.want, io.EOF)
				d, ok, err := next(l, c.wait)
				if whole {
					if !ok || err != nil || d.Event.Kind != scheduler.KindEnd {
						t.Errorf("the end is %+v, %v, %v", d, ok, err)
					}
					_, ok, err = next(l, c.wait)
				}
				if ok || !errors.Is(err, c.want) {
					t.Errorf("afterwards: %v, %v", ok, err)
				}
				if err := l.Read(func(*Delta) bool { return true }); whole && err != nil || !whole && !errors.Is(err, c.want) {
					t.Errorf("a loop reads %v", err)
				}
				if n := given.Load(); n != 2 {
					t.Errorf("given back %d times, want the model and the place once", n)
				}
			})
		})
	}
}

// An answer that is ended while a token is waited for is given back by who waits.
func TestLive_Drain_EndsBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given atomic.Int32
		l := newLive(t.Context(), &given)
		read := make(chan error)
		go func() {
			for {
				if _, _, err := next(l, true); err != nil {
					read <- err
					return
				}
			}
		}()
		synctest.Wait() // it waits for a fourth token
		if _, _, err := next(l, false); !errors.Is(err, ErrRead) {
			t.Errorf("a second reader: %v", err)
		}
		l.End(errors.New("ended"))
		if err := <-read; err == nil || given.Load() != 2 {
			t.Errorf("%v, given back %d times", err, given.Load())
		}
	})
}

// An answer that is ended while it is read is given back by its reader, and nobody else can read it
// meanwhile.
func TestLive_EndsBesideItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given atomic.Int32
		l := newLive(t.Context(), &given)
		text, within := "", make(chan struct{})
		go func() {
			if err := l.Read(func(d *Delta) bool {
				text += d.Content
				if text == "abc" && d.Event.Kind == scheduler.KindToken {
					<-within
				}
				return true
			}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if err := l.Read(func(*Delta) bool { return true }); !errors.Is(err, ErrRead) {
			t.Errorf("a second reader: %v", err)
		}
		l.End(nil)
		if n := given.Load(); n != 0 {
			t.Errorf("given back %d times under its reader", n)
		}
		close(within)
		synctest.Wait()
		if n := given.Load(); n != 2 || text != "abc" || l.Choice.FinishReason() != "cancelled" {
			t.Errorf("given back %d times, %q, %s", n, text, l.Choice.FinishReason())
		}
	})
}

// Once its context is done, too, an answer that is being read has one reader: others would take it
// for one that nobody uses any more.
func TestLive_Read_ContextDone_OneReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := newLive(ctx, new(atomic.Int32))
	var beside error
	err := l.Read(func(*Delta) bool {
		cancel()
		beside = l.Read(func(*Delta) bool { return true })
		return false
	})
	if !errors.Is(beside, ErrRead) || err != nil {
		t.Errorf("beside the reader %v, of the reader %v", beside, err)
	}
}
