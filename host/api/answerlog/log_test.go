// SPDX-License-Identifier: MIT

package answerlog

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	answers "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// An answer whose frames take too much is not kept any more: it holds only what is unread, and
// nobody can come back to it. If its client has gone, it ends.
func TestLog_Write_IsBounded(t *testing.T) {
	for _, away := range []bool{false, true} {
		s := &Shelf{mostOfCaller: runningBytes + 64<<10, Hold: func() func() { return func() {} }}
		l := s.beginNamed("one", "a")
		ended := false
		if l.cancel = func() { ended = true }; away {
			l.reader.Leave()
		}
		for seq := range 200 {
			if !l.kept && !away {
				l.reader.Read()
			}
			if !l.kept && away {
				break
			}
			l.write(t.Context(), frame{seq: int64(seq), size: 1000}, false)
			if s.total > s.mostOfCaller {
				t.Fatalf("after event %d: %d bytes", seq, s.total)
			}
			if !away && l.kept {
				l.reader.Read()
			}
			if forgot := !l.kept; seq < 55 && forgot || seq > 65 && !forgot {
				t.Fatalf("after event %d of 1 KB: forgot %v", seq, forgot)
			}
		}
		if l.kept || s.has("a") || s.total != 0 || ended != away || !away && len(l.frames) > 1 {
			t.Errorf("away %v: kept %v, found %v, %d bytes, ended %v, %d frames", away, l.kept, s.has("a"), s.total, ended, len(l.frames))
		}
	}
}

func TestFrame_Named(t *testing.T) {
	for _, tc := range []struct {
		frame any
		want  string
	}{
		{tokenFrame{Type: "token", Seq: 3, Text: `"id":""`}, `{"type":"token","id":"a\"\u003c","seq":3,"text":"\"id\":\"\""`},
		{startedFrame{Type: "started", Stream: `"id":""`}, `{"type":"started","id":"a\"\u003c","stream":"\"id\"`},
		{EndFrame{Type: "end"}, `{"type":"end","id":"a\"\u003c",`},
	} {
		data, err := json.Marshal(tc.frame)
		if got := string((&frame{data: data}).nameFrame(`a"<`)); err != nil || !strings.HasPrefix(got, tc.want) {
			t.Errorf("got %s, want %s, %v", got, tc.want, err)
		}
	}
}

// A reader that is behind gets several parts in one frame, after the tokens that they are made of;
// one that has come back gets first all that it had.
func TestLog_Read_PartsTogether(t *testing.T) {
	l := (&Shelf{Hold: func() func() { return func() {} }}).beginNamed("one", "a")
	l.apart = true
	for seq := range int64(50) {
		l.write(t.Context(), frame{seq: seq, data: []byte(`{"id":""}`)}, false)
		l.write(t.Context(), frame{parts: &partsFrame{Content: "x"}}, false)
	}
	l.write(t.Context(), frame{seq: 50, data: []byte(`{"id":""}`)}, true)
	for after, most := range map[int64]int{-1: 5, 9: 4, 49: 1} {
		a := newReader("a")
		must.Do(t, l.shelf.Attach(a, "a", l.caller, after))
		events, content, frames := after+1, 0, 0
		for f, last, _ := a.Read(); !last; f, last, _ = a.Read() {
			p, isParts := f.(partsFrame)
			if !isParts {
				events++
				continue
			}
			if content += len(p.Content); p.Reset != (frames == 0) || content > int(events) {
				t.Errorf("after %d: parts %d have reset %v, and %d of %d events", after, frames, p.Reset, content, events)
			}
			frames++
		}
		if content != 50 || frames > most {
			t.Errorf("after %d: %d of 50 in %d frames, want %d at most", after, content, frames, most)
		}
	}
	l.shelf.remove(l)
}

// obedient is a stream that does what it is told, whenever that is.
type obedient struct{ still }

func (obedient) Pause(context.Context) error                   { return nil }
func (obedient) Resume(context.Context) error                  { return nil }
func (obedient) SetChain(context.Context, []chain.Stage) error { return nil }

func (obedient) Conversation(context.Context) (prompt []scheduler.Token, answered answers.Begun, err error) {
	return []scheduler.Token{1}, answers.Begun{}, nil
}

// building builds what it is asked for, and has an obedient stream for it.
type building struct{ servingtest.NoScheduler }

func (building) SubmitBuilt(_ string, _ int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	_, err := build()
	return []serving.Stream{obedient{}}, err
}

// obedientLog is a log of an answer of such a stream, that a reader with the name one reads.
func obedientLog(t *testing.T, r *Reader) *Log {
	t.Helper()
	m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: building{}}
	service := completion.NewService(servingtest.OneModel{Model: m})
	p := must.Get(service.Prompt(t.Context(), completion.Asked{Common: completion.DefaultCommonFields(), Source: completion.Text("a"), Answers: completion.OneAnswer()}))(t)
	submitted := must.Get(service.Submit(t.Context(), p, completion.Reading{}))(t)
	s := &Shelf{Hold: func() func() { return func() {} }}
	l := s.beginNamed("one", "a")
	l.reader = r
	r.log.Store(l)
	l.source = &source{service: service, shelf: s, stream: obedient{}, choice: submitted.Choices[0]}
	return l
}

// A pause may succeed just after another reader has taken the answer over: that one is told. One
// that comes back to an answer that has ended is not told that it is paused.
func TestLog_Pause_WhoReadsIsTold(t *testing.T) {
	old, fresh, late := newReader("old"), newReader("fresh"), newReader("late")
	l := obedientLog(t, old)
	must.Do(t, l.shelf.Attach(fresh, "a", l.caller, -1))
	if err := old.Log().Pause(t.Context(), true); err != nil {
		t.Error(err)
	}
	if f, _, _ := fresh.Read(); f != any(stateFrame{Type: paused, ID: "fresh"}) {
		t.Errorf("who reads it by then reads %v", f)
	}
	if _, _, lost := old.Read(); !lost {
		t.Error("the reader that has lost the answer still reads it")
	}
	must.Do(t, l.shelf.Attach(late, "a", l.caller, -1))
	if err := l.Pause(t.Context(), false); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{paused, resumed}, statesOf(late)); diff != "" {
		t.Errorf("of a paused answer that goes on it reads %s", diff)
	}
	if err := l.Pause(t.Context(), true); err != nil {
		t.Error(err)
	}
	if !l.source.write(t.Context(), l, scheduler.Event{Kind: scheduler.KindEnd, End: &scheduler.End{}}) {
		t.Error("the end was not written")
	}
	must.Do(t, l.shelf.Attach(late, "a", l.caller, -1))
	if _, last, _ := late.Read(); !last {
		t.Error("of an answer that has ended it reads more than the end")
	}
	l.shelf.remove(l)
}

// statesOf are those that a reader is told of before all else.
func statesOf(r *Reader) (types []string) {
	f, _, _ := r.Read()
	for state, ok := f.(stateFrame); ok; state, ok = f.(stateFrame) {
		types = append(types, state.Type)
		f, _, _ = r.Read()
	}
	return types
}

// A reader that is told of nothing, and one that has left, hold nobody up, and what is told last is
// what counts.
func TestLog_Pause_WaitsForNoReader(t *testing.T) {
	r := newReader("a")
	l := obedientLog(t, r)
	for i := range 5 * mostStates {
		must.Do(t, l.Pause(t.Context(), i%2 == 0))
	}
	if told := statesOf(r); len(told) != mostStates || told[0] != paused || told[mostStates-1] != resumed {
		t.Errorf("it is told of %v", told)
	}
	r.Leave()
	if err := l.Pause(t.Context(), true); err != nil {
		t.Error(err)
	}
	must.Do(t, l.shelf.Attach(r, "a", l.caller, -1))
	if diff := cmp.Diff([]string{paused}, statesOf(r)); diff != "" {
		t.Errorf("who comes back is told %s", diff)
	}
	l.shelf.remove(l)
}

// slow is a stream that has done what it is told some time before it says so.
type slow struct {
	obedient
	paused *bool
	goOn   chan struct{}
}

func (s slow) Pause(context.Context) error  { return s.act(true) }
func (s slow) Resume(context.Context) error { return s.act(false) }

func (s slow) act(pause bool) error {
	*s.paused = pause
	if pause {
		<-s.goOn
	}
	return nil
}

// Two connections may pause and resume an answer at the same time. What the client is told last is
// what it does.
func TestLog_Pause_ToldInTheOrderInWhichItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader("a")
		l := obedientLog(t, r)
		held, goOn := false, make(chan struct{})
		l.source.stream = slow{paused: &held, goOn: goOn}
		for _, pause := range []bool{true, false} {
			go func() {
				if err := l.Pause(t.Context(), pause); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		close(goOn)
		synctest.Wait()
		if diff := cmp.Diff([]string{paused, resumed}, statesOf(r)); diff != "" || held || l.paused {
			t.Errorf("held %v, noted %v, told %s", held, l.paused, diff)
		}
		l.shelf.remove(l)
	})
}

// While another reader takes an answer over, the one that had it may still be steering it.
func TestLog_Set_FromTwoReaders(t *testing.T) {
	l := obedientLog(t, newReader("a"))
	r := l.source.choice.Request
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 20 {
				if err := l.Set(t.Context(), json.RawMessage(`{"logit_bias":{"3":1},"temperature":0.5}`)); err != nil {
					t.Error(err)
				}
				if _, err := l.Fork(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	if got := r.Params.Temperature; got != 0.5 {
		t.Errorf("the temperature is %v", got)
	}
}

// tokens is a stream of so many tokens, as fast as they are read.
type tokens struct {
	still
	n    int
	seq  *int
	done chan struct{}
}

func (s tokens) Done() <-chan struct{} { return s.done }

func (s tokens) Next(ctx context.Context) (scheduler.Event, error) {
	e := scheduler.Event{Seq: uint64(*s.seq), Text: fmt.Sprint(*s.seq)}
	if *s.seq++; *s.seq > s.n {
		e.Kind, e.End, e.Text = scheduler.KindEnd, &scheduler.End{}, ""
		close(s.done)
	}
	return e, ctx.Err()
}

// However readers come, go and take the log from each other, each has from its place on what
// follows that, whole and once, and the source is never further ahead than it may be.
func TestLog_Hammer_ReadersComeAndGo(t *testing.T) {
	const n = 4 * mostAhead
	awake := make(chan struct{}, 1)
	newcomer := func() *Reader {
		return &Reader{ID: "a", Wake: func() { signal(awake) }}
	}
	reader := newcomer()
	l := obedientLog(t, reader)
	seq := 0
	l.source.stream = tokens{n: n, seq: &seq, done: make(chan struct{})}
	over := make(chan struct{})
	go func() { // run, without the release of a request that nobody has begun
		defer close(over)
		src := l.source
		for {
			e, _ := src.stream.Next(t.Context())
			data, _ := json.Marshal(tokenFrame{Type: "token", Seq: e.Seq, Text: e.Text})
			if !l.write(t.Context(), frame{seq: int64(e.Seq), data: data, size: 100}, e.Kind == scheduler.KindEnd) || e.Kind == scheduler.KindEnd {
				return
			}
		}
	}()
	rng := rand.New(rand.NewPCG(1, 2))
	last, furthest := int64(-1), 0
	for ended := false; !ended; {
		var f any
		var lost bool
		if f, ended, lost = reader.Read(); lost {
			t.Fatal("nobody else reads it")
		}
		if f == nil {
			<-awake
			continue
		}
		var read tokenFrame
		if err := json.Unmarshal(f.(json.RawMessage), &read); err != nil || int64(read.Seq) != last+1 {
			t.Fatalf("after %d comes %s, %v", last, f, err)
		}
		last = int64(read.Seq)
		l.mu.Lock()
		furthest = max(furthest, l.place)
		if ahead := len(l.frames) - furthest; ahead > mostAhead && !l.ended && !isDone(l.source.stream) {
			t.Errorf("%d frames were never read", ahead)
		}
		l.mu.Unlock()
		if rng.IntN(20) == 0 && !ended {
			old := reader
			if rng.IntN(2) == 0 {
				old.Leave()
			}
			reader, last = newcomer(), max(-1, last-rng.Int64N(20))
			must.Do(t, l.shelf.Attach(reader, "a", l.caller, last))
			if _, _, lost := old.Read(); !lost {
				t.Fatal("the reader before still reads it")
			}
		}
	}
	<-over
	if last != n {
		t.Errorf("the last event is %d, want %d", last, n)
	}
	l.shelf.remove(l)
}

func isDone(s serving.Stream) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}
