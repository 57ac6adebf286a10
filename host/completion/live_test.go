// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
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
		"by its reader":  {func(l *Live, _ func()) { _ = l.Read(func(Delta) bool { return false }) }, nil},
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
				if err := l.Read(func(Delta) bool { return true }); !errors.Is(err, c.want) {
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

// An answer that is ended while it is read is given back by its reader, and nobody else can read it
// meanwhile.
func TestLive_EndsBesideItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given atomic.Int32
		l := newLive(t.Context(), &given)
		text, within := "", make(chan struct{})
		go func() {
			if err := l.Read(func(d Delta) bool {
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
		if err := l.Read(func(Delta) bool { return true }); !errors.Is(err, ErrRead) {
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
	err := l.Read(func(Delta) bool {
		cancel()
		beside = l.Read(func(Delta) bool { return true })
		return false
	})
	if !errors.Is(beside, ErrRead) || err != nil {
		t.Errorf("beside the reader %v, of the reader %v", beside, err)
	}
}
