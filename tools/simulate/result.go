// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/penstock/penstock/scheduler"
)

// result is what a simulation has measured.
type result struct {
	ttft, itl, queued     histogram
	answers, refused      int
	prompt, cached, known int // prompt tokens: all, those found in the KV cache, those that some cache of the fleet may have
	preempted             int
	rate                  float64 // answers a second
	computing             float64 // part of the time, on average of all replicas
	slots, busiest        float64 // part of the slots that are taken: on average, and of the replica with the most
	cells                 float64 // part of the KV cells that hold something at the end
}

// answered counts an answer.
func (r *result) answered(e scheduler.RequestRecord, known int) {
	r.answers++
	r.prompt += e.Usage.Prompt
	r.cached += e.Usage.Cached
	r.known += known
	r.queued.add(e.Timing.Queued)
}

// hits is the part of all prompt tokens that were found in the cache.
func (r *result) hits() float64 { return float64(r.cached) / float64(max(r.prompt, 1)) }

// possible is the part that one cache without limits would have had.
func (r *result) possible() float64 { return float64(r.known) / float64(max(r.prompt, 1)) }

// keeps reports whether a fleet was fast enough, and took all that came.
func (r *result) keeps(g goal) bool {
	return r.refused == 0 && r.answers > 0 && r.ttft.quantile(0.99) <= g.ttft && r.itl.quantile(0.99) <= g.itl
}

// milliseconds rounds a time for a table.
func milliseconds(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }
