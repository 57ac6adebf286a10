// SPDX-License-Identifier: MIT

package answerlog

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	answers "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// unencodable is a frame that has no JSON.
var unencodable = struct{ N float64 }{math.NaN()}

// What ends an answer in its middle is the last of its log, whatever its parser still has to say.
func TestLog_Write_NothingAfterTheEnd(t *testing.T) {
	for _, kept := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := obedientLog(t, newReader("a"))
			src, r := l.source, l.reader
			parts := frame{parts: &partsFrame{Content: "x"}}
			if l.kept = kept; !kept {
				l.write(t.Context(), frame{data: []byte(`{"id":""}`)}, false)
			}
			go func() {
				if src.writeFrame(t.Context(), l, scheduler.Event{Seq: 1}, unencodable) {
					t.Error("more is to be written")
				}
			}()
			synctest.Wait() // it is written, or waits for room
			var wrote []bool
			go func() { wrote = append(wrote, l.write(t.Context(), parts, false), l.write(t.Context(), parts, false)) }()
			ends := 0
			for range 5 {
				synctest.Wait()
				if _, last, _ := r.Read(); last {
					ends++
				}
			}
			if synctest.Wait(); ends != 1 || len(wrote) != 2 || wrote[0] || wrote[1] {
				t.Errorf("kept %v: %d ends were read, parts were written %v", kept, ends, wrote)
			}
			l.shelf.remove(l)
		})
	}
}

// counting is one model, and tells of each request that has released it.
type counting struct {
	servingtest.OneModel
	released chan struct{}
}

func (c counting) Use(context.Context, string) (*serving.Model, func(), error) {
	return c.Model, func() { c.released <- struct{}{} }, nil
}

// oneEvent is a stream with an event, after which it waits until nobody wants it.
type oneEvent struct {
	obedient
	events chan scheduler.Event
}

func (s oneEvent) Next(ctx context.Context) (scheduler.Event, error) {
	select {
	case e := <-s.events:
		return e, nil
	case <-ctx.Done():
		return scheduler.Event{}, ctx.Err()
	}
}

// submits has a stream for each request, refuses it, or panics.
type submits struct {
	servingtest.NoScheduler
	stream serving.Stream
	broken bool
}

func (s submits) SubmitBuilt(caller string, n int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	switch {
	case s.broken:
		panic("the scheduler is broken")
	case s.stream == nil:
		return s.NoScheduler.SubmitBuilt(caller, n, build)
	}
	_, err := build()
	return []serving.Stream{s.stream}, err
}

// However an answer ends, its model is released once, and is nothing that its log still leads to.
func TestShelf_Begin_ReleasesOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		event   *scheduler.Event
		leave   bool
		refused bool
		broken  bool
	}{
		"ended":    {event: &scheduler.Event{Kind: scheduler.KindEnd, End: &scheduler.End{Reason: answers.ReasonLength}}},
		"left":     {leave: true},
		"no frame": {event: &scheduler.Event{Kind: scheduler.KindOutput, Output: &chain.Output{Value: []byte("no JSON")}}},
		"refused":  {refused: true},
		"broken":   {broken: true},
	} {
		for _, o := range []Options{{}, {Stay: time.Hour}, {Parts: true}} {
			synctest.Test(t, func(t *testing.T) {
				stream := oneEvent{events: make(chan scheduler.Event, 1)}
				takes := submits{stream: stream, broken: tc.broken}
				if tc.refused {
					takes.stream = nil
				}
				if tc.event != nil {
					stream.events <- *tc.event
				}
				models := counting{servingtest.OneModel{Model: &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: takes}}, make(chan struct{}, 9)}
				service := completion.NewService(models)
				p := must.Get(service.Prompt(t.Context(), completion.Asked{Common: completion.DefaultCommonFields(), Source: completion.Text("a"), Answers: completion.OneAnswer()}))(t)
				s, r := &Shelf{Hold: func() func() { return func() {} }}, newReader("a")
				func() {
					defer func() {
						if p := recover(); (p != nil) != tc.broken {
							t.Errorf("%s: panic %v", name, p)
						}
					}()
					if err := s.Begin(t.Context(), service, p, o, r); (err != nil) != tc.refused {
						t.Errorf("%s: %v", name, err)
					}
				}()
				if l := r.Log(); l != nil && tc.leave {
					r.Leave()
					time.Sleep(2 * time.Hour) // nobody comes back
				}
				synctest.Wait()
				if n := len(models.released); n != 1 {
					t.Errorf("%s, %+v: released %d times", name, o, n)
				}
				if l := r.Log(); l != nil {
					if err := l.Pause(t.Context(), true); !errors.Is(err, scheduler.ErrEnded) {
						t.Errorf("%s, %+v: a pause is answered with %v", name, o, err)
					}
					s.remove(l)
				}
				if s.total != 0 {
					t.Errorf("%s, %+v: %d bytes are counted", name, o, s.total)
				}
			})
		}
	}
}

// A log that waits for its client keeps nothing of who has read it, and wakes it no more.
func TestReader_Leave_IsNotKept(t *testing.T) {
	l := (&Shelf{Hold: func() func() { return func() {} }}).beginNamed("one", "a")
	for seq := range int64(2) {
		l.write(t.Context(), frame{seq: seq, data: []byte(`{"id":""}`)}, seq == 1)
	}
	read := func(r *Reader) {
		must.Do(t, l.shelf.Attach(r, "a", l.caller, -1))
		r.Read()
		if _, last, _ := r.Read(); !last || !l.held {
			t.Errorf("that was not the end, or the host does not wait until it is known to have arrived: %v, %v", last, l.held)
		}
	}
	left := func() weak.Pointer[Reader] {
		gone := false
		r := &Reader{ID: "a", Wake: func() {
			if gone {
				t.Error("who has left is woken")
			}
		}}
		read(r)
		r.Leave()
		gone = true
		if r.Told().Settle(); l.held {
			t.Error("the host waits for a client that has all")
		}
		return weak.Make(r)
	}()
	runtime.GC()
	if left.Value() != nil {
		t.Error("who has left is kept")
	}
	before, after := newReader("b"), newReader("c")
	read(before)
	before.Leave()
	read(after)
	if before.Told().Settle(); !l.held {
		t.Error("the host does not wait for the client that has come back since")
	}
	l.shelf.remove(l)
}
