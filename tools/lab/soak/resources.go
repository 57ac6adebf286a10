// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
)

// gauge is something that the server has or uses, and that must be as before once nobody uses it.
type gauge struct {
	name   string
	metric string  // of GET /metrics, the sum over its labels; empty: see measure
	unit   float64 // what a number in the report counts
	slack  float64 // how much more there may be afterwards besides a fiftieth
	idle   bool    // it must be 0 while nobody asks for anything
}

const mib = 1 << 20

// The gauges that are no metrics.
const (
	used    = "resident memory except free pages of Go, MiB"
	threads = "threads"
	cells   = "KV cells of running answers"
)

// slack is for what is allocated in pieces: memory in arenas and pages, threads by calls that
// happen to overlap, which Go keeps. What C's arenas keep was 7 to 13 MiB more after a second
// load, of 20 s and of 8 minutes alike: it does not grow with the requests, of which the longer
// one has twenty times as many.
var gauges = []gauge{
	{"resident memory, MiB", "process_resident_memory_bytes", mib, 1 << 40, false}, // Go gives free pages back over minutes
	{used, "", mib, 16 * mib, false},
	{"Go's heap in use, MiB", "go_memstats_heap_alloc_bytes", mib, 4 * mib, false},
	{"goroutines", "go_goroutines", 1, 0, false},
	{"open files and connections", "process_open_fds", 1, 0, false},
	{threads, "", 1, 16, false},
	{"running answers", "penstock_num_requests_running", 1, 0, true},
	{"waiting requests", "penstock_num_requests_waiting", 1, 0, true},
	{cells, "", 1, 0, true},
	{"memory of plugin instances, MiB", "penstock_plugin_memory_bytes", mib, 4 * mib, false}, // plans of clients are kept
}

// resources are the values of the gauges, in their order.
type resources []float64

// exceeds lists what is more than before.
func (r resources) exceeds(before resources) (list []string) {
	for i, g := range gauges {
		most := 0.0
		if !g.idle && before != nil {
			most = before[i]*1.02 + g.slack
		}
		if (g.idle || before != nil) && r[i] > most {
			list = append(list, fmt.Sprintf("%s: %.2f, at most %.2f", g.name, r[i]/g.unit, most/g.unit))
		}
	}
	return list
}

// measure reads all gauges. The cells take a connection, so that they are not looked at under load.
func (s *soak) measure(ctx context.Context, withCells bool) (resources, error) {
	a, err := s.send(ctx, get("/metrics", goodKeys[0]))
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, &wrong{"GET /metrics", a.String(), "200"}
	}
	m := bench.Metrics(a.Body)
	r := make(resources, len(gauges))
	for i, g := range gauges {
		switch {
		case g.metric != "":
			r[i], _ = m.Sum(g.metric)
		case g.name == used:
			resident, _ := m.Sum("process_resident_memory_bytes")
			r[i] = resident - keptByGo(m)
		case g.name == threads:
			tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.place.PID())) // only Linux has this folder
			r[i] = float64(len(tasks))
		case withCells:
			if r[i], err = s.busyCells(ctx); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// keptByGo is what the Go runtime has and no program uses: free pages, which it gives back over
// minutes, and its books of the pages, which it never makes smaller than they were at the peak.
func keptByGo(m bench.Metrics) (kept float64) {
	for _, part := range []string{"heap_idle", "mspan_sys", "mcache_sys", "gc_sys", "buck_hash_sys"} {
		bytes, _ := m.Sum("go_memstats_" + part + "_bytes")
		kept += bytes
	}
	released, _ := m.Sum("go_memstats_heap_released_bytes")
	return kept - released
}

// busyCells is how many cells of the KV cache running answers have, by the first live frame of a
// watch.
func (s *soak) busyCells(ctx context.Context) (n float64, err error) {
	k, err := s.dial(ctx, s.http, goodKeys[0])
	if err != nil {
		return 0, err
	}
	defer k.conn.Close()
	if err := k.send(ctx, "watch", "", map[string]any{"every_ms": 1000}); err != nil {
		return 0, err
	}
	f, err := k.conn.Read(ctx)
	if err != nil {
		return 0, err
	}
	var live struct {
		Models []struct {
			Cells struct{ Used, Cached float64 }
		}
	}
	if err := json.Unmarshal(f.Data, &live); err != nil || len(live.Models) == 0 {
		return 0, &wrong{"watch", string(f.Data), "a live frame with a model"}
	}
	for _, m := range live.Models {
		n += m.Cells.Used - m.Cells.Cached
	}
	return n, nil
}

// watch looks at the resources until the clients are done, and returns the highest of each gauge.
func (s *soak) watch(ctx context.Context, clients *sync.WaitGroup) resources {
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	peak, said := make(resources, len(gauges)), time.Now()
	for {
		select {
		case <-done:
			return peak
		case <-time.After(500 * time.Millisecond):
		}
		now, err := s.measure(ctx, false)
		if err != nil {
			continue // the clients will find out what is wrong
		}
		for i := range peak {
			peak[i] = max(peak[i], now[i])
		}
		if time.Since(said) > 30*time.Second {
			said = time.Now()
			s.say("%d requests, %.0f MiB, %.0f goroutines", s.tally.sum(), now[0]/mib, now[3])
		}
	}
}

// settleWithin is how long the server may take until all is let go of: answers that outlive their
// connection, memory that goes back to the operating system.
const settleWithin = 60 * time.Second

// settle waits until nobody uses anything and no more is used than before, but not forever, and
// returns what is used then.
func (s *soak) settle(ctx context.Context, before *resources) (last resources, _ error) {
	for began := time.Now(); ; {
		if err := s.rest(ctx); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(2 * time.Second): // the server gives memory back when nobody has come for one
		}
		now, err := s.measure(ctx, true)
		if err != nil {
			return nil, err
		}
		level := len(now.exceeds(nil)) == 0
		if before != nil {
			level = len(now.exceeds(*before)) == 0
		} else if level { // what is going away would be too much to begin with
			level = last != nil && len(last.exceeds(now)) == 0
		}
		if level || time.Since(began) > settleWithin {
			return now, nil
		}
		last = now
	}
}

// rest brings the server into the state in which it is compared: the second model and the passing
// adapter unloaded, plugins that came removed, garbage collected, no connection open.
func (s *soak) rest(ctx context.Context) error {
	if err := os.Remove(s.place.dropped()); err != nil && !os.IsNotExist(err) {
		return err
	}
	for n := range guests {
		if _, err := s.send(ctx, bench.Call{Method: http.MethodDelete, Path: "/v1/plugins/" + guestName(n), Key: adminKey}); err != nil {
			return err
		}
	}
	for _, c := range []bench.Call{
		post("/models/unload", adminKey, map[string]any{"model": small}),
		{Method: http.MethodDelete, Path: "/v1/adapters/" + passing, Key: adminKey},
		post("/lora-adapters", adminKey, lora(0)),
		get("/debug/pprof/heap?gc=1", adminKey), get("/debug/pprof/heap?gc=1", adminKey),
	} {
		if _, err := s.send(ctx, c); err != nil {
			return err
		}
	}
	s.close()
	return nil
}

// tally counts requests by their kind and by how they ended.
type tally struct {
	mu   sync.Mutex
	ends map[string]map[string]int
	n    int
}

func newTally() *tally { return &tally{ends: map[string]map[string]int{}} }

func (t *tally) add(kind, end string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ends[kind] == nil {
		t.ends[kind] = map[string]int{}
	}
	t.ends[kind][end]++
	t.n++
}

func (t *tally) sum() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// row is how many requests of a kind ended so.
type row struct {
	kind, end string
	n         int
}

func (t *tally) rows() (all []row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(t.ends)) {
		for _, end := range slices.Sorted(maps.Keys(t.ends[kind])) {
			all = append(all, row{kind, end, t.ends[kind][end]})
		}
	}
	return all
}

// report is what a run has found.
type report struct {
	*soak
	before, peak, after resources
	took                time.Duration
}

// text is the report as Markdown.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; %v. Seed %d, %d clients, %v: **%d requests**, none lost, none wrong.\n", time.Now().UTC().Format("2 January 2006"),
		bench.ThisMachine(), r.seed, r.clients, r.took.Round(time.Second), r.tally.sum())
	if r.ties > 0 {
		fmt.Fprintf(&b, "%d of %d questions were left out: their answers depend on a near tie.\n", r.ties, r.ties+len(r.questions))
	}
	fmt.Fprintf(&b, "\n| resource | before | at the peak | after |\n|---|---:|---:|---:|\n")
	for i, g := range gauges {
		peak := number(r.peak[i] / g.unit)
		if g.name == cells {
			peak = "" // is not looked at under load
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", g.name, number(r.before[i]/g.unit), peak, number(r.after[i]/g.unit))
	}
	fmt.Fprintf(&b, "\n| request | outcome | count |\n|---|---|---:|\n")
	for _, row := range r.tally.rows() {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", row.kind, row.end, row.n)
	}
	return b.String()
}

// number is short: whole where it is large or whole.
func number(x float64) string {
	if x == float64(int64(x)) {
		return fmt.Sprint(int64(x))
	}
	return fmt.Sprintf("%.1f", x)
}

// verdict is what is not as before.
func (r *report) verdict() error {
	if list := r.after.exceeds(r.before); len(list) > 0 {
		return fmt.Errorf("not everything was released within %v:\n  %s", settleWithin, strings.Join(list, "\n  "))
	}
	return nil
}
