// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
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
	{"memory of plugin instances, MiB", "penstock_plugin_memory_bytes", mib, 0, true},
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
	if a.status != http.StatusOK {
		return nil, &wrong{"GET /metrics", a.String(), "200"}
	}
	r := make(resources, len(gauges))
	for i, g := range gauges {
		switch {
		case g.metric != "":
			r[i] = metric(string(a.body), g.metric)
		case g.name == used:
			r[i] = metric(string(a.body), "process_resident_memory_bytes") - keptByGo(string(a.body))
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
func keptByGo(metrics string) float64 {
	kept := metric(metrics, "go_memstats_heap_idle_bytes") - metric(metrics, "go_memstats_heap_released_bytes")
	for _, books := range []string{"mspan_sys", "mcache_sys", "gc_sys", "buck_hash_sys"} {
		kept += metric(metrics, "go_memstats_"+books+"_bytes")
	}
	return kept
}

// metric is the sum of a metric over all its labels.
func metric(text, name string) (sum float64) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		if at := strings.LastIndexByte(rest, ' '); at >= 0 {
			value, _ := strconv.ParseFloat(strings.TrimSpace(rest[at:]), 64) // what is no number is none of ours
			sum += value
		}
	}
	return sum
}

// busyCells is how many cells of the KV cache running answers have, by the first live frame of a
// watch.
func (s *soak) busyCells(ctx context.Context) (n float64, err error) {
	k, err := s.dial(ctx, s.http, goodKeys[0])
	if err != nil {
		return 0, err
	}
	defer k.hang()
	if err := k.send(ctx, "watch", "", map[string]any{"every_ms": 1000}); err != nil {
		return 0, err
	}
	_, data, err := k.conn.Read(ctx)
	if err != nil {
		return 0, err
	}
	var live struct {
		Models []struct {
			Cells struct{ Used, Cached float64 }
		}
	}
	if err := json.Unmarshal(data, &live); err != nil || len(live.Models) == 0 {
		return 0, &wrong{"watch", string(data), "a live frame with a model"}
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
		if _, err := s.send(ctx, call{method: http.MethodDelete, path: "/v1/plugins/" + guestName(n), key: adminKey}); err != nil {
			return err
		}
	}
	for _, c := range []call{
		post("/models/unload", adminKey, map[string]any{"model": small}),
		{method: http.MethodDelete, path: "/v1/adapters/" + passing, key: adminKey},
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
