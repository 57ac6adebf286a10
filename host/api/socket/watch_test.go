// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/serving/servingtest"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// ticking is a scheduler that has done a tick every 2 ms since it began, and counts how often it
// was looked at.
type ticking struct {
	servingtest.NoScheduler
	began time.Time
	looks *atomic.Int32
}

func (s ticking) Inspect(_ context.Context, most int) (scheduler.Snapshot, error) {
	s.looks.Add(1)
	count := int(time.Since(s.began) / (2 * time.Millisecond))
	snap := scheduler.Snapshot{TickCount: count, Slots: make([]scheduler.SlotInfo, 1)}
	for i := max(0, count-most); i < count; i++ {
		snap.Ticks = append(snap.Ticks, scheduler.TickRecord{Start: s.began.Add(time.Duration(i) * 2 * time.Millisecond), Decode: i})
	}
	return snap, nil
}

// watched is a bubble with connections whose writers the test plays.
type watched struct {
	api   *API
	looks atomic.Int32
	stop  context.CancelFunc
	open  []*connection
	ctx   context.Context
}

func watchTest(t *testing.T, test func(t *testing.T, w *watched)) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{}
		m := &serving.Model{Info: servingtest.Info(), Engine: servingtest.Toy{}, Scheduler: ticking{began: time.Now(), looks: &w.looks}}
		w.api = &API{Server: &wire.Server{Service: completion.NewService(servingtest.OneModel{Model: m})}}
		w.ctx, w.stop = context.WithCancel(t.Context())
		test(t, w)
		w.stop()
		for _, k := range w.open {
			k.watch.running.Wait()
		}
	})
}

func (w *watched) connect() *connection {
	k := newConnection(w.ctx, w.api)
	k.client.allow = anybody
	w.open = append(w.open, k)
	return k
}

func watchEvery(t *testing.T, k *connection, ms int64) {
	t.Helper()
	must.Get(k.dispatch(clientFrame{Type: "watch", EveryMS: &ms}))(t)
}

func TestConnection_Watch_FramesUntilItEnds(t *testing.T) {
	watchTest(t, func(t *testing.T, w *watched) {
		k := w.connect()
		time.Sleep(10 * time.Second) // 5000 ticks before
		watchEvery(t, k, 200)
		var got [][3]int // first tick, how many, how many left out
		var times []time.Duration
		began := time.Now()
		for range 3 {
			ticks := (<-k.live).Models[0].Ticks
			got, times = append(got, [3]int{ticks.First, len(ticks.Decode), ticks.LeftOut}), append(times, time.Since(began))
			if ticks.Decode[0] != ticks.First || ticks.AtMS[1]-ticks.AtMS[0] != 2 {
				t.Errorf("%+v", ticks)
			}
		}
		if diff := cmp.Diff([][3]int{{4500, 500, 0}, {5000, 100, 0}, {5100, 100, 0}}, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond}, times); diff != "" {
			t.Error(diff)
		}
		watchEvery(t, k, 1000) // takes the place of the first
		<-k.live
		looks := w.looks.Load()
		time.Sleep(10 * time.Second) // the client does not read
		synctest.Wait()              // the look of this moment is made
		if n := w.looks.Load() - looks; n < 9 || n > 10 {
			t.Errorf("%d looks in 10 s, one a second were asked for", n)
		}
		if ticks := (<-k.live).Models[0].Ticks; len(ticks.Decode) != 500 || ticks.LeftOut < 4000 || ticks.First != 10_200-500 {
			t.Errorf("first %d, %d ticks, %d left out", ticks.First, len(ticks.Decode), ticks.LeftOut)
		}
		watchEvery(t, k, 0)
		looks = w.looks.Load()
		time.Sleep(time.Hour)
		if n := w.looks.Load(); n != looks {
			t.Errorf("%d looks after the end of the watch", n-looks)
		}
		watchEvery(t, k, 0) // once more changes nothing
	})
}

// Many watchers cost a scheduler no more looks than one.
func TestConnection_Watch_ManyShareALook(t *testing.T) {
	watchTest(t, func(t *testing.T, w *watched) {
		for range 50 {
			k := w.connect()
			watchEvery(t, k, 100)
			go func() {
				for {
					select {
					case <-k.live:
					case <-w.ctx.Done():
						return
					}
				}
			}()
		}
		time.Sleep(10*time.Second - time.Millisecond)
		if n := w.looks.Load(); n < 95 || n > 100 {
			t.Errorf("%d looks in 10 s for 50 watchers, 100 for one", n)
		}
	})
}

func TestConnection_Watch_Bad(t *testing.T) {
	k := newConnection(t.Context(), &API{})
	k.client.allow = anybody
	for _, frame := range []string{`{}`, `{"every_ms":99}`, `{"every_ms":-1}`, `{"every_ms":60001}`, `{"every_ms":9223372036854775807}`, `{"every_ms":null}`} {
		var f clientFrame
		must.Do(t, json.Unmarshal([]byte(frame), &f))
		f.Type = "watch"
		_, err := k.dispatch(f)
		if e := completion.AsError(err, ""); e.Field != "every_ms" || e.Code != "invalid_value" || wire.StatusOf(e) != 400 || !strings.HasPrefix(e.Message, "every_ms is ") {
			t.Errorf("%s: %+v", frame, e)
		}
	}
}

// A token never waits behind a live frame that came first.
func TestConnection_Next_TokensFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		k := newConnection(ctx, &API{})
		token := &answer{}
		for range 20 {
			go func() { k.live <- liveFrame{} }()
			synctest.Wait()
			k.ready.add(token)
			synctest.Wait()
			if f, _ := k.next(); f != any(token) {
				t.Fatalf("%T came first", f)
			}
			if f, _ := k.next(); f == any(token) {
				t.Fatal("there was one token")
			}
		}
		stop()
		if _, ok := k.next(); ok {
			t.Error("a frame after the end")
		}
	})
}

// A model that is on its way is shown with those who wait for it, and one that is being unloaded
// is left out.
func TestLookout_Look_ModelsThatComeAndGo(t *testing.T) {
	residents := residentsOnly{nil, []serving.Resident{{Name: "coming", Waiting: 3}, {Name: "going", Model: &serving.Model{Scheduler: servingtest.NoScheduler{}}},
		{Name: "embeds", Model: &serving.Model{Scheduler: servingtest.NoScheduler{}, EmbedsOnly: true}}}}
	k := newConnection(t.Context(), &API{})
	models := must.Get(k.api.lookout.lookAtModels(t.Context(), residents))(t)
	got, err := json.Marshal(k.liveFrame(models, nil).Models)
	want := `[{"name":"coming","state":"loading","waiting_for_load":3,"slots":[],"queue":{"waiting":0,"for":{},"own":[]},"cells":{"total":0,"used":0,"cached":0},` +
		`"ticks":{"first":0,"left_out":0,"at_ms":[],"decode":[],"prefill":[],"passes":[],"forward_ms":[],"sample_ms":[],"plugin_ms":[],"total_ms":[]},` +
		`"itl":{"up_to_ms":[],"counts":[],"sum_ms":0},"plugins":[]}]`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// residentsOnly are models of which only the residents are asked for.
type residentsOnly struct {
	serving.Models
	all []serving.Resident
}

func (r residentsOnly) Residents() []serving.Resident { return r.all }

// A watch ends with the key of its client.
func TestConnection_Watch_EndsWithTheKey(t *testing.T) {
	watchTest(t, func(t *testing.T, w *watched) {
		k := w.connect()
		var withdrawn atomic.Bool
		k.client.allow = func() error {
			if withdrawn.Load() {
				return errors.New("withdrawn")
			}
			return nil
		}
		watchEvery(t, k, 100)
		<-k.live
		withdrawn.Store(true)
		k.watch.running.Wait()
	})
}

// anybody may use a connection of these tests.
func anybody() error { return nil }
