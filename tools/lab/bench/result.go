// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"slices"
	"time"
)

// Result is what one run measured.
type Result struct {
	Seconds float64   `json:"seconds"` // length of the window
	Classes []Summary `json:"classes"` // in the load's order
	Total   Summary   `json:"total"`   // of all classes; Class is empty

	Ticks *Ticks `json:"ticks,omitempty"` // of the whole run, warm-up included; nil if the server does not tell
}

// Summary is what one class of clients saw within the window.
type Summary struct {
	Class    string `json:"class"`
	Requests int    `json:"requests"` // sent in the window
	Failed   int    `json:"failed"`   // of these
	Error    string `json:"error,omitempty"`

	Tokens          float64 `json:"tokens"` // generated in the window
	TokensPerSecond float64 `json:"tokens_per_second"`
	// Prompt tokens computed in the window, cached ones not counted. A prompt counts from its
	// request's sending to the first text, spread evenly, so that those which begin or end outside
	// the window count in part.
	PromptTokens          float64 `json:"prompt_tokens"`
	PromptTokensPerSecond float64 `json:"prompt_tokens_per_second"`
	CachedTokens          int     `json:"cached_tokens"` // of the prompts of requests sent in the window

	TTFT Latency `json:"ttft"` // of requests sent in the window
	ITL  Latency `json:"itl"`  // gaps that begin in the window; at the end of the run, as long as they were by then
}

// Class finds the summary of a class; one without any request if there is none of that name.
func (r Result) Class(name string) Summary {
	for _, s := range r.Classes {
		if s.Class == name {
			return s
		}
	}
	return Summary{Class: name}
}

// result sums up the run. All clients must have returned.
func (r *run) result() Result {
	w := r.window
	if w.to.IsZero() {
		w.from, w.to = span(r.records)
	}
	result := Result{Seconds: w.length().Seconds()}
	all := newTally(w)
	for i, c := range r.load.Classes {
		var records []*record
		for _, rec := range r.records {
			if rec.class == i {
				records = append(records, rec)
			}
		}
		t := newTally(w)
		typical := typicalUsage(records, c.PromptWords)
		for _, rec := range records {
			t.add(rec, typical)
			all.add(rec, typical)
		}
		result.Classes = append(result.Classes, t.summary(c.Name))
	}
	result.Total = all.summary("")
	return result
}

// span is the time from the first request to just past the last end.
func span(records []*record) (from, to time.Time) {
	for _, rec := range records {
		if from.IsZero() || rec.sent.Before(from) {
			from = rec.sent
		}
		if rec.ended.After(to) {
			to = rec.ended
		}
	}
	return from, to.Add(1) // a window's end is not part of it
}

// record says what happened to one request.
type record struct {
	class   int
	sent    time.Time
	arrived []time.Time // of each piece of text
	ended   time.Time
	usage   Usage
	cut     bool  // the run ended before the answer did
	err     error // of a request that failed
}

// begun reports whether text has arrived.
func (r *record) begun() bool { return len(r.arrived) > 0 }

// window is the time that is measured: [from, to).
type window struct{ from, to time.Time }

func (w window) contains(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

func (w window) length() time.Duration { return w.to.Sub(w.from) }

// overlap is the part of [from, to) that lies in the window, from 0 to 1.
func (w window) overlap(from, to time.Time) float64 {
	whole := to.Sub(from)
	if whole <= 0 {
		if w.contains(from) {
			return 1
		}
		return 0
	}
	if from.Before(w.from) {
		from = w.from
	}
	if to.After(w.to) {
		to = w.to
	}
	return max(0, float64(to.Sub(from))/float64(whole))
}

// typical is what requests of a class come to on average, for those of which the server did not
// say: answers that were cut off at the end of a run carry no usage. Where none of a class has
// any, a word of a prompt counts as a token.
type typical struct {
	prompt   float64 // prompt tokens that were computed
	perPiece float64 // tokens generated for each piece of text; above 1 where text is held back
}

func typicalUsage(records []*record, promptWords int) typical {
	var told, prompt, generated, pieces int
	for _, rec := range records {
		if rec.usage.Prompt > 0 {
			told++
			prompt += rec.usage.Prompt - rec.usage.Cached
		}
		if rec.usage.Generated > 0 && rec.begun() {
			generated += rec.usage.Generated
			pieces += len(rec.arrived)
		}
	}
	t := typical{prompt: float64(promptWords), perPiece: 1}
	if told > 0 {
		t.prompt = float64(prompt) / float64(told)
	}
	if pieces > 0 {
		t.perPiece = float64(generated) / float64(pieces)
	}
	return t
}

// tally adds up records.
type tally struct {
	window    window
	s         Summary
	ttft, itl []time.Duration
}

func newTally(w window) *tally { return &tally{window: w} }

func (t *tally) add(rec *record, typical typical) {
	if t.window.contains(rec.sent) {
		t.s.Requests++
		t.s.CachedTokens += rec.usage.Cached
		if rec.err != nil {
			t.s.Failed++
			t.s.Error = rec.err.Error()
		}
		if rec.begun() {
			t.ttft = append(t.ttft, rec.arrived[0].Sub(rec.sent))
		}
	}
	if !rec.begun() {
		return
	}
	prompt := typical.prompt
	if rec.usage.Prompt > 0 {
		prompt = float64(rec.usage.Prompt - rec.usage.Cached)
	}
	t.s.PromptTokens += prompt * t.window.overlap(rec.sent, rec.arrived[0])
	t.addTokens(rec, typical)
}

func (t *tally) addTokens(rec *record, typical typical) {
	weight := typical.perPiece
	if rec.usage.Generated > 0 {
		weight = float64(rec.usage.Generated) / float64(len(rec.arrived))
	}
	for i, at := range rec.arrived {
		if t.window.contains(at) {
			t.s.Tokens += weight
		}
		if i > 0 {
			t.gap(rec.arrived[i-1], at)
		}
	}
	if rec.cut {
		t.gap(rec.arrived[len(rec.arrived)-1], rec.ended)
	}
}

func (t *tally) gap(from, to time.Time) {
	if t.window.contains(from) {
		t.itl = append(t.itl, to.Sub(from))
	}
}

func (t *tally) summary(class string) Summary {
	s := t.s
	s.Class = class
	if seconds := t.window.length().Seconds(); seconds > 0 {
		s.TokensPerSecond = s.Tokens / seconds
		s.PromptTokensPerSecond = s.PromptTokens / seconds
	}
	s.TTFT, s.ITL = latencyOf(t.ttft), latencyOf(t.itl)
	return s
}

// Latency describes a set of durations, in milliseconds. With a Count of 0 the others mean nothing.
type Latency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// latencyOf sorts its argument.
func latencyOf(ds []time.Duration) Latency {
	if len(ds) == 0 {
		return Latency{}
	}
	slices.Sort(ds)
	return Latency{len(ds), percentile(ds, 50), percentile(ds, 95), percentile(ds, 99), percentile(ds, 100)}
}

// percentile is the least of the sorted values that at least p percent do not exceed (nearest
// rank), in milliseconds.
func percentile(sorted []time.Duration, p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return float64(sorted[max(rank, 1)-1]) / float64(time.Millisecond)
}
