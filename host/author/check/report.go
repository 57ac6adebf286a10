// SPDX-License-Identifier: MIT

package check

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/stage"
)

// Report is what came of trying a plugin.
type Report struct {
	Plugin   string   `json:"plugin"`
	Version  string   `json:"version,omitempty"`
	SHA256   string   `json:"sha256"`
	Exports  []Export `json:"exports"`
	Memory   Memory   `json:"memory"`
	Findings []string `json:"findings"` // empty: all is well

	exports []string         // of the module
	fuel    map[string]int64 // the most of a call
}

// Memory is how much guest memory there was after conversations, in bytes.
type Memory struct {
	Least int `json:"least"`
	Most  int `json:"most"`
}

// Export is what the calls of an export took.
type Export struct {
	Name   string        `json:"name"`
	Calls  int           `json:"calls"`
	Median time.Duration `json:"median_ns"`
	Most   time.Duration `json:"most_ns"`
	Fuel   int64         `json:"fuel"` // units, of the call that used most; 0: not known

	times []time.Duration
}

func (r *Report) find(format string, args ...any) {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = plugin.Told(err)
		}
	}
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// maxFuelShare is the part of its fuel that no call should exceed: on a real vocabulary there is
// more to do.
const maxFuelShare = 0.5

// used notes the fuel of a call, if the plugin has the export that was to be called.
func (r *Report) used(export string, u stage.Usage, w *drive.Words) {
	if !slices.Contains(r.exports, export) {
		return
	}
	if w == words && float64(u.Fuel) > maxFuelShare*float64(u.Limit) && float64(r.fuel[export]) <= maxFuelShare*float64(u.Limit) {
		r.find("%s used %d units of fuel; the limit is %d", export, u.Fuel, u.Limit)
	}
	r.fuel[export] = max(r.fuel[export], u.Fuel)
}

// held notes the memory at the end of a conversation.
func (r *Report) held(bytes int) {
	if r.Memory.Most == 0 {
		r.Memory.Least = bytes
	}
	r.Memory = Memory{min(r.Memory.Least, bytes), max(r.Memory.Most, bytes)}
}

// tally is a plugin.Observer that times calls.
type tally struct {
	mu    sync.Mutex
	calls map[string]*Export
}

// PluginCalls implements plugin.Observer.
func (t *tally) PluginCalls(_, export string) func(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.calls[export]
	if e == nil {
		e = &Export{Name: export}
		t.calls[export] = e
	}
	return func(took time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.Calls++
		e.times = append(e.times, took)
	}
}

// PluginFault implements plugin.Observer: conversations report their faults themselves.
func (t *tally) PluginFault(string, string) {}

// list gives the exports by name, with the most fuel of a call.
func (t *tally) list(fuel map[string]int64) []Export {
	var list []Export
	for _, e := range t.calls {
		slices.Sort(e.times)
		e.Median, e.Most = e.times[len(e.times)/2], e.times[len(e.times)-1]
		e.Fuel = fuel[e.Name]
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b Export) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
