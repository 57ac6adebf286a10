// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// The bounds of every_ms in a watch frame, besides 0.
const (
	minWatch = 100 * time.Millisecond
	maxWatch = time.Minute
)

// watch is the goroutine that sends a connection's live frames, one at most.
type watch struct {
	stop    context.CancelFunc // called by the reader
	running sync.WaitGroup
}

// watchEvery begins to send live frames, changes how often they come, or ends them.
func (k *connection) watchEvery(f clientFrame) error {
	if f.EveryMS == nil {
		return refusal.Invalid("every_ms", "every_ms is missing: the time between two live frames in milliseconds, or 0 for no more of them")
	}
	every := time.Duration(*f.EveryMS) * time.Millisecond
	if *f.EveryMS != 0 && (*f.EveryMS < minWatch.Milliseconds() || *f.EveryMS > maxWatch.Milliseconds()) {
		return refusal.Invalid("every_ms", "every_ms is %d; it must be from %d to %d, or 0 to end the watch", *f.EveryMS, minWatch.Milliseconds(), maxWatch.Milliseconds())
	}
	k.watch.stop()
	k.watch.running.Wait() // no frame of the old watch is sent after this
	if every == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(k.ctx)
	k.watch.stop = stop
	k.watch.running.Go(func() { k.sendLive(ctx, every) })
	return nil
}

// sendLive sends a live frame at once, and then every so often until ctx is done. A frame that the
// writer does not take in that time is dropped: the next one is newer. So a slow client has fewer
// of them, and none ever waits in front of a token.
func (k *connection) sendLive(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	seen := map[string]int{} // by model: ticks that a frame has had
	for {
		models, err := k.api.lookout.lookAtModels(ctx, k.api.Models)
		if err != nil || k.client.allow() != nil {
			return
		}
		select {
		case k.live <- k.liveFrame(models, seen):
			for _, m := range models {
				seen[m.name] = m.TickCount
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lookout looks at what the models do, for all watchers together: a watcher that asks shortly after
// another gets the same result. So watchers cost a scheduler one look at a time, however many there
// are.
type lookout struct {
	once sync.Once
	turn chan struct{} // full while somebody looks
	at   time.Time     // of the last look
	seen []modelView
}

const (
	lookFor   = minWatch / 2 // so long a look is good for others
	mostTicks = 500          // of one model in a frame
)

// modelView is one model as it was at a look.
type modelView struct {
	name    string
	loaded  bool
	waiting int // requests that wait until it is loaded
	scheduler.Snapshot
	itl     serving.Histogram
	plugins []serving.PluginMeasures
}

// lookAtModels describes the models that are in memory or being loaded. Its error is the context's.
// The caller changes nothing of what it gets.
func (l *lookout) lookAtModels(ctx context.Context, models serving.Models) ([]modelView, error) {
	l.once.Do(func() { l.turn = make(chan struct{}, 1) })
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !l.at.IsZero() && time.Since(l.at) < lookFor {
		return l.seen, nil
	}
	var seen []modelView
	for _, r := range models.Residents() {
		v := modelView{name: r.Name, waiting: r.Waiting}
		if r.Model != nil {
			if r.Model.EmbedsOnly || !v.lookAt(ctx, r.Model) {
				continue
			}
		}
		seen = append(seen, v)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.seen, l.at = seen, time.Now()
	return seen, nil
}

// lookAt looks at a loaded model; false where it is being unloaded.
func (v *modelView) lookAt(ctx context.Context, m *serving.Model) bool {
	var err error
	if v.Snapshot, err = m.Scheduler.Inspect(ctx, mostTicks); err != nil {
		return false
	}
	v.loaded = true
	if m.Measures != nil {
		v.itl, v.plugins = m.Measures.InterTokenLatency(), m.Measures.Plugins()
	}
	return true
}

// liveFrame is what the server is doing. Of the answers of others it has neither texts nor names:
// a stream's name would let a stranger attach to it.
type liveFrame struct {
	Type   string      `json:"type"`
	TimeMS float64     `json:"time_ms"` // the server's clock, since 1970
	Models []liveModel `json:"models"`
}

type liveModel struct {
	Name           string       `json:"name"`
	State          string       `json:"state"` // loaded, loading
	WaitingForLoad int          `json:"waiting_for_load"`
	Slots          []liveSlot   `json:"slots"`
	Queue          liveQueue    `json:"queue"`
	Cells          liveCells    `json:"cells"`
	Ticks          liveTicks    `json:"ticks"`
	ITL            liveITL      `json:"itl"`
	Plugins        []livePlugin `json:"plugins"`
}

type liveSlot struct {
	Slot     int     `json:"slot"`
	State    string  `json:"state"`
	WaitsFor string  `json:"waits_for,omitempty"`
	ID       string  `json:"id,omitempty"` // of an answer of this connection
	Request  uint64  `json:"request,omitempty"`
	Branch   uint64  `json:"branch,omitempty"` // of a program
	Has      int     `json:"branch_tokens,omitempty"`
	Prompt   int     `json:"prompt_tokens,omitempty"`
	Done     int     `json:"prompt_done,omitempty"`
	Cached   int     `json:"cached_tokens,omitempty"`
	Tokens   int     `json:"generated_tokens,omitempty"`
	Most     int     `json:"max_tokens,omitempty"`
	Rate     float64 `json:"tokens_per_second,omitempty"`
	AgeMS    float64 `json:"age_ms,omitempty"`
	Priority int     `json:"priority,omitempty"`
	// Plugins of its chain, in order.
	Plugins []string `json:"plugins,omitempty"`
}

type liveQueue struct {
	Waiting int            `json:"waiting"`
	For     map[string]int `json:"for"` // how many wait for what
	Own     []liveQueued   `json:"own"`
}

// liveQueued is an answer of this connection that has no slot.
type liveQueued struct {
	ID       string  `json:"id"`
	Place    int     `json:"place"` // the first has 1
	WaitsFor string  `json:"waits_for"`
	Prompt   int     `json:"prompt_tokens"`
	Tokens   int     `json:"generated_tokens,omitempty"`
	AgeMS    float64 `json:"age_ms"`
	Priority int     `json:"priority,omitempty"`
}

type liveCells struct {
	Total  int `json:"total"`
	Used   int `json:"used"`
	Cached int `json:"cached"`
}

// liveTicks are the ticks since the last frame by column, oldest first. Columns are a quarter of
// the size of rows.
type liveTicks struct {
	First   int       `json:"first"` // number of the first one
	LeftOut int       `json:"left_out"`
	AtMS    []float64 `json:"at_ms"`
	Decode  []int     `json:"decode"`
	Prefill []int     `json:"prefill"`
	Passes  []int     `json:"passes"`
	Forward []float64 `json:"forward_ms"`
	Sample  []float64 `json:"sample_ms"`
	Plugin  []float64 `json:"plugin_ms"`
	Total   []float64 `json:"total_ms"`
}

type liveITL struct {
	UpTo   []float64 `json:"up_to_ms"`
	Counts []uint64  `json:"counts"`
	SumMS  float64   `json:"sum_ms"`
}

type livePlugin struct {
	Name   string  `json:"name"`
	State  string  `json:"state"`
	Calls  uint64  `json:"calls"`
	TimeMS float64 `json:"time_ms"`
	Faults uint64  `json:"faults"`
}

// liveFrame is what a look has seen, in the eyes of this connection. seen counts the ticks of each
// model that it was told of.
func (k *connection) liveFrame(models []modelView, seen map[string]int) liveFrame {
	f := liveFrame{Type: "live", TimeMS: float64(time.Now().UnixMicro()) / 1000, Models: make([]liveModel, len(models))}
	own := k.idsByStream()
	for i, m := range models {
		f.Models[i] = m.live(own, seen)
	}
	return f
}

// idsByStream are the client's names of this connection's answers, by the names of their streams.
func (k *connection) idsByStream() map[string]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := make(map[string]string, len(k.byID))
	for id, a := range k.byID {
		if l := a.reader.Log(); l != nil {
			own[l.Stream()] = id
		}
	}
	return own
}

func (v *modelView) live(own map[string]string, seen map[string]int) liveModel {
	l := liveModel{Name: v.name, State: "loading", WaitingForLoad: v.waiting, Slots: make([]liveSlot, len(v.Slots)), Queue: queueOf(v.Queue, own),
		Cells: liveCells{v.Cells, v.CellsUsed, v.CellsCached}, ITL: itlOf(v.itl), Plugins: make([]livePlugin, len(v.plugins))}
	if v.loaded {
		l.State = "loaded"
	}
	for i, s := range v.Slots {
		l.Slots[i] = slotOf(s, own[s.Stream])
	}
	for i, p := range v.plugins {
		l.Plugins[i] = livePlugin{p.Name, p.State, p.Calls, milliseconds(p.Time), p.Faults}
	}
	before, known := seen[v.name]
	l.Ticks = ticksOf(v.Ticks, v.TickCount, before, known)
	return l
}

func slotOf(s scheduler.SlotInfo, id string) liveSlot {
	l := liveSlot{Slot: s.Slot, State: s.State}
	if s.Stream == "" {
		return l
	}
	l.WaitsFor, l.ID, l.Request, l.Prompt, l.Done, l.Cached = string(s.Wait), id, s.Request, s.Prompt, min(s.Computed, s.Prompt), s.Cached
	l.Branch, l.Has = s.Branch, s.Tokens
	l.Tokens, l.Most, l.AgeMS, l.Priority = s.Generated, s.Limit, milliseconds(s.Age), s.Priority
	if s.Decoding > 0 && s.Generated > 1 {
		l.Rate = math.Round(float64(s.Generated-1)/s.Decoding.Seconds()*100) / 100
	}
	for _, stage := range s.Lasting {
		if name, ok := sampling.PluginNamed(stage); ok {
			l.Plugins = append(l.Plugins, name)
		}
	}
	return l
}

func itlOf(h serving.Histogram) liveITL {
	l := liveITL{UpTo: make([]float64, len(h.Bounds)), Counts: append([]uint64{}, h.Counts...), SumMS: milliseconds(h.Sum)}
	for i, b := range h.Bounds {
		l.UpTo[i] = milliseconds(b)
	}
	return l
}

func queueOf(queue []scheduler.QueueInfo, own map[string]string) liveQueue {
	l := liveQueue{Waiting: len(queue), For: map[string]int{}, Own: []liveQueued{}}
	for i, q := range queue {
		l.For[string(q.Wait)]++
		if id, ok := own[q.Stream]; ok {
			l.Own = append(l.Own, liveQueued{id, i + 1, string(q.Wait), q.Prompt, q.Generated, milliseconds(q.Age), q.Priority})
		}
	}
	return l
}

// ticksOf lists those of the last ticks that the watch has not seen: the ticks after the first
// `before`. A watch that has just begun is not told of any that were left out.
func ticksOf(ticks []scheduler.TickRecord, count, before int, known bool) liveTicks {
	if before > count { // the model was loaded again
		before, known = 0, false
	}
	n := min(count-before, len(ticks))
	l := liveTicks{First: count - n, AtMS: make([]float64, n), Decode: make([]int, n), Prefill: make([]int, n), Passes: make([]int, n),
		Forward: make([]float64, n), Sample: make([]float64, n), Plugin: make([]float64, n), Total: make([]float64, n)}
	if known {
		l.LeftOut = count - before - n
	}
	for i, r := range ticks[len(ticks)-n:] {
		l.AtMS[i], l.Decode[i], l.Prefill[i], l.Passes[i] = float64(r.Start.UnixMicro())/1000, r.Decode, r.Prefill, r.Passes
		l.Forward[i], l.Sample[i], l.Plugin[i], l.Total[i] = milliseconds(r.Forward), milliseconds(r.Sample), milliseconds(r.Background), milliseconds(r.Total)
	}
	return l
}

// milliseconds gives a duration in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
