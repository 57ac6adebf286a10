// SPDX-License-Identifier: MIT

package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock/penstock/scheduler"
)

// llamaMetrics are llama-server's own metrics, under its names, so that dashboards made for it
// work. Of those of speculative decoding, there are none by position.
type llamaMetrics struct {
	stats func() scheduler.Stats

	mu                     sync.Mutex
	prompt, predict, cache float64 // tokens
	promptTime             time.Duration
	predictTime            time.Duration
	drafted, accepted      float64
	drafts                 float64
	passes, busy           int // busy counts the slots in use in each pass
	longest                int // tokens of prompt and answer
	window                 window
}

// window is what was computed since the metrics were last asked for.
type window struct {
	prompt, predict         float64
	promptTime, predictTime time.Duration
}

// llamaMetric is one of them: its name, what it is and its value.
type llamaMetric struct {
	name, help string
	kind       prometheus.ValueType
	value      func(m *llamaMetrics, w window, s scheduler.Stats) float64
}

var llamaTable = []llamaMetric{
	{"prompt_tokens_total", "Prompt tokens computed, without those found in the cache.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.prompt }},
	{"prompt_tokens_cached_total", "Prompt tokens found in the cache.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.cache }},
	{"prompt_seconds_total", "Time of prompts.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.promptTime.Seconds() }},
	{"tokens_predicted_total", "Tokens generated.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.predict }},
	{"tokens_predicted_seconds_total", "Time of answers.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.predictTime.Seconds() }},
	{"n_decode_total", "Forward passes.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return float64(m.passes) }},
	{"n_tokens_max", "Tokens of the longest prompt with its answer.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return float64(m.longest) }},
	{"spec_decode_num_draft_tokens_total", "Tokens that were guessed and computed.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.drafted }},
	{"spec_decode_num_accepted_tokens_total", "Guessed tokens that became part of answers.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.accepted }},
	{"spec_decode_num_drafts_total", "Guesses of one or more tokens.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.drafts }},
	{"prompt_tokens_seconds", "Prompt tokens a second, of requests that ended since this was last asked for.", prometheus.GaugeValue,
		func(_ *llamaMetrics, w window, _ scheduler.Stats) float64 { return perSecond(w.prompt, w.promptTime) }},
	{"predicted_tokens_seconds", "Generated tokens a second, likewise.", prometheus.GaugeValue,
		func(_ *llamaMetrics, w window, _ scheduler.Stats) float64 { return perSecond(w.predict, w.predictTime) }},
	{"requests_processing", "Requests in a slot.", prometheus.GaugeValue,
		func(_ *llamaMetrics, _ window, s scheduler.Stats) float64 { return float64(s.Running) }},
	{"requests_deferred", "Requests in the queue.", prometheus.GaugeValue,
		func(_ *llamaMetrics, _ window, s scheduler.Stats) float64 { return float64(s.Waiting) }},
	{"n_busy_slots_per_decode", "Slots in use, on average over the forward passes.", prometheus.GaugeValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 {
			return float64(m.busy) / float64(max(1, m.passes))
		}},
}

func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}

// Describe implements prometheus.Collector.
func (m *llamaMetrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector. It begins a new window.
func (m *llamaMetrics) Collect(out chan<- prometheus.Metric) {
	var s scheduler.Stats
	if m.stats != nil {
		s = m.stats()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.window
	m.window = window{}
	for _, e := range llamaTable {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("llamacpp:"+e.name, e.help, nil, nil), e.kind, e.value(m, w, s))
	}
}

func (m *llamaMetrics) tick(r scheduler.TickRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drafted += float64(r.Drafted)
	m.accepted += float64(r.Accepted)
	m.drafts += float64(r.Drafts)
	m.passes += r.Passes
	m.busy += r.Passes * r.Running
}

func (m *llamaMetrics) ended(r scheduler.RequestRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	computed, generated := float64(r.Usage.Prompt-r.Usage.Cached), float64(r.Usage.Generated)
	m.prompt += computed
	m.cache += float64(r.Usage.Cached)
	m.predict += generated
	m.promptTime += r.Timing.Prefill
	m.predictTime += r.Timing.Decode
	m.longest = max(m.longest, r.Usage.Prompt+r.Usage.Generated)
	m.window.prompt += computed
	m.window.predict += generated
	m.window.promptTime += r.Timing.Prefill
	m.window.predictTime += r.Timing.Decode
}
